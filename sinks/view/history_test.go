package view_test

import (
	"context"
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// Another worker wrote the same change of an item first, after a claim that this worker did not see. Then the writes
// that this worker bases on its own write of the change are lost too.
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

// behind is a shelf that runs before ahead of its first Settle, so that others write first.
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
