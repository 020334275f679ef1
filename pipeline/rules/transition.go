package rules

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Transition is a detector that raises an event when the attribute at path goes
// from one value to another, each given as the text of an S, an N (any spelling
// of the number) or a BOOL (true, false). "" and "*" stand for anything, also for
// an absent attribute and for values that have no text. The event holds the old
// and the new value.
//
// The value must differ by meaning: what stays raises nothing. An INSERT comes
// from an absent attribute, so it raises an event when from is "*" and the new
// item has the value to. A REMOVE raises none: there is no item that has gone to
// anything; see [Disappeared].
func Transition(path item.Path, from, to string) pipeline.Detector {
	return transition{path, parseExpected(from), parseExpected(to)}
}

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
	if !t.to.is(new) {
		return dst, nil
	}
	old, _ := c.Old.At(t.path)
	if !t.from.is(old) || old.Equal(new) {
		return dst, nil
	}
	return append(dst, pipeline.Event{Path: t.path.String(), Old: old, New: new}), nil
}

// Requires both images.
func (transition) Requires() pipeline.Needs { return pipeline.Needs{Old: true, New: true} }

// expected is what one side of a transition may be.
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

func (e expected) is(v item.Value) bool {
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
