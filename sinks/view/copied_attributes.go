package view

import (
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// copier copies the attributes of items into rows; see [CopyAll].
type copier struct {
	leftOut  []string // names of the row's key attributes and of hidden attributes
	hidesAll bool     // the mask hides every attribute
}

func newCopier(o Options) *copier {
	if o.All == nil {
		return nil
	}
	c := &copier{leftOut: []string{o.PK.Name, o.SK.Name}}
	for _, p := range o.All.Hidden.Patterns() {
		root, ok := p.Root()
		c.hidesAll = c.hidesAll || !ok
		c.leftOut = append(c.leftOut, root)
	}
	return c
}

// columns appends the attributes of the item m that its row gets to cs.
func (c *copier) columns(cs []state.Column, m item.Image) []state.Column {
	if c.hidesAll {
		return cs
	}
	cs = slices.Grow(cs, m.Len())
	for name, v := range m.All() {
		if !slices.Contains(c.leftOut, name) && !strings.HasPrefix(name, reserved) && !item.Replicated(name) {
			cs = append(cs, state.Column{Name: name, Value: v})
		}
	}
	return cs
}
