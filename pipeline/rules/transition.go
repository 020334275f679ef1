package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Transition is a detector that raises an event if the attribute at path changes from one value to another. from and to
// are the text of an S, an N (in any spelling) or a BOOL (true, false). "" and "*" match everything, also an absent
// attribute and values without a text. The event has the old and the new value.
//
// The values must differ by meaning. An INSERT has an absent old value, so it raises an event if from is "*" and the new
// item has the value to. A REMOVE raises no event; see [Disappeared].
func Transition(path item.Path, from, to string) pipeline.Detector {
	return transition{path, parseExpected(from), parseExpected(to)}
}

// transition raises an event if an attribute changes from one expected value to another.
type transition struct {
	path     item.Path
	from, to expected
}

var _ pipeline.Requirer = transition{}

// Detect compares the attribute.
func (t transition) Detect(dst []pipeline.Event, c *record.Change) ([]pipeline.Event, error) {
	if c.Op == record.Snapshot || c.Removed() {
		return dst, nil
	}
	if err := checkImages(c); err != nil {
		return dst, err
	}
	new, _ := c.New.At(t.path)
	if !t.to.matches(new) {
		return dst, nil
	}
	old, _ := c.Old.At(t.path)
	if !t.from.matches(old) || old.Equal(new) {
		return dst, nil
	}
	return append(dst, pipeline.Event{Path: t.path.String(), Old: old, New: new}), nil
}

// Requires both images.
func (transition) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }

// expected is the expected value of one side of a transition.
type expected struct {
	anything bool
	text     string
	number   decimal.Decimal
	numeric  bool // text is a number
}

func parseExpected(s string) expected {
	d, err := decimal.Parse(s)
	return expected{anything: s == "" || s == "*", text: s, number: d, numeric: err == nil}
}

func (e expected) matches(v item.Value) bool {
	switch {
	case e.anything:
		return true
	case v.Kind() == item.KindS:
		s, _ := v.Text()
		return s == e.text
	case v.Kind() == item.KindN:
		d, _ := v.Number()
		return e.numeric && d == e.number
	case v.Kind() == item.KindBOOL:
		b, _ := v.Bool()
		return b && e.text == "true" || !b && e.text == "false"
	default:
		return false
	}
}
