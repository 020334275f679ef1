package sinks

import (
	"context"
	"errors"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// ErrNotEmpty is what a rebuild comes to where a view or an aggregate has been written to.
var ErrNotEmpty = errors.New("a rebuild replays all of the history into a sink that is empty, and this one is not: give the sink a new name, or its rows another table")

// retention is what a sink may take for granted that its store remembers.
func (a *assembly) retention(ctx context.Context, store any, sink, table string, pk, sk view.Attribute) (state.Retention, error) {
	var keep time.Duration
	if a.cfg.State != nil {
		keep = a.cfg.State.GuardRetention
	}
	if s, ok := store.(view.Emptier); ok && a.rebuild {
		t := view.Target{Table: view.Table{Name: table, PK: pk.Name, SK: sk.Name}, View: sink, Pipeline: a.cfg.Name}
		if empty, err := s.Empty(ctx, t); err != nil || !empty {
			return state.Retention{}, errors.Join(err, ErrNotEmpty)
		}
	}
	return state.RetentionOf(ctx, store, keep, a.rebuild)
}
