package view_test

import (
	"context"
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// Another worker got ahead with the same change of an item, behind a claim that this one
// did not see: what this one builds on its own write of the change is lost too.
func TestWrite_ByItemAnotherHistoryOfTheRow(t *testing.T) {
	cs := changes(t, moved("c", "", "x", "1"), moved("a", "", "x", "2"), moved("b", "", "x", "3"))
	for rule, want := range map[view.Collision]string{view.KeepFirst: "x=a 2", view.KeepLast: "x=b 3"} {
		shelf := newShelf()
		options := byEmail(t, shelf, rule)
		other := newSink(t, options)
		options.Store = &behind{shelf: shelf, before: func() {
			outcomesOf(t, other, cs[0])
			outcomesOf(t, other, cs[1])
		}}
		outcomesOf(t, newSink(t, options), cs[1], cs[2])
		if got := holders(t, shelf); got != want {
			t.Errorf("%s: the rows are %s, want %s", rule, got, want)
		}
	}
}

// behind is a shelf that others write to before its first WriteItems.
type behind struct {
	*shelf
	before func()
}

func (s *behind) WriteItems(ctx context.Context, t view.Target, ws []state.ItemWrite) ([]view.Result, error) {
	if do := s.before; do != nil {
		s.before = nil
		do()
	}
	return s.shelf.WriteItems(ctx, t, ws)
}
