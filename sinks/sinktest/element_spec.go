package sinktest

import (
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/elements"
	"github.com/tablewake/tablewake/pipeline/item"
)

// LinesBy returns a Spec that selects the elements of Lines, an attribute of the generated items. It is for sinks with
// an entry for each element. by is the path of the identity in an element; if it is "", the position is the identity.
func LinesBy(by string) *elements.Spec {
	p, err := item.ParsePath("Lines")
	if err != nil {
		panic(err) // Lines is a valid path
	}
	return &elements.Spec{Path: p, By: by}
}

// Lines returns the elements of the item's attribute Lines.
func (it Item) Lines() []Item {
	lines, _ := it["Lines"]["L"].([]Attr)
	all := make([]Item, len(lines))
	for i, l := range lines {
		all[i], _ = l["M"].(Item)
	}
	return all
}

// HasQuantity is a condition on an element of Lines: it must have the attribute qty.
func HasQuantity(e item.Value) bool {
	_, has := e.Get("qty")
	return has
}

// ElementCondition is a condition in two parts: one on the item, and one on an element.
type ElementCondition struct {
	pipeline.ItemCondition // nil takes every item
	Element                func(item.Value) bool
}

var _ pipeline.ElementCondition = ElementCondition{}

// ReadsElement returns true.
func (c ElementCondition) ReadsElement() bool { return true }

// MatchElement reports whether the item and the element meet their conditions.
func (c ElementCondition) MatchElement(m item.Image, e item.Value) (bool, error) {
	if c.ItemCondition != nil {
		if in, err := c.Match(m); err != nil || !in {
			return in, err
		}
	}
	return c.Element(e), nil
}

// IsDuplicate reports whether an error says that two elements have one identity.
func IsDuplicate(err error) bool { return strings.Contains(err.Error(), "have the same identity") }
