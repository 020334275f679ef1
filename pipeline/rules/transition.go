package rules

import (
	"strconv"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Transition is a detector that raises an event if the attribute at path changes from one value to another. from and to
// are the text of an S, an N (in any spelling) or a BOOL (true, false). "" and "*" match everything, even an absent
// attribute and values without a text. The event has the old and the new value.
//
// The values must differ by meaning. An INSERT has an absent old value. So it raises an event if from is "" or "*" and
// the new value matches to. A REMOVE raises no event; see [Disappeared].
func Transition(path item.Path, from, to string) pipeline.Detector {
	wantOld, wantNew := parseExpected(from), parseExpected(to)
	skips := func(c *record.Change) bool { return c.Op == record.Snapshot || c.Removed() }
	return imageDetector{skips, func(dst []pipeline.Event, c *record.Change) []pipeline.Event {
		new, _ := c.New.At(path)
		if !wantNew.matches(new) {
			return dst
		}
		old, _ := c.Old.At(path)
		if !wantOld.matches(old) || old.Equal(new) {
			return dst
		}
		return append(dst, pipeline.Event{Path: path.String(), Old: old, New: new})
	}}
}

// expected is the expected value of one side of a transition.
type expected struct {
	anything bool
	text     string
	number   decimal.Decimal
	isNumber bool // text is a number
}

func parseExpected(s string) expected {
	d, err := decimal.Parse(s)
	return expected{anything: s == "" || s == "*", text: s, number: d, isNumber: err == nil}
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
		return e.isNumber && d == e.number
	case v.Kind() == item.KindBOOL:
		b, _ := v.Bool()
		return e.text == strconv.FormatBool(b)
	default:
		return false
	}
}
