package sinks

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// ErrNotEmpty is what a rebuild comes to where a view or an aggregate has been written to.
var ErrNotEmpty = errs.New("a rebuild replays all of the history into a sink that is empty, and this one is not: give the sink a new name, or its rows another table")

// ErrIndexNotEmpty is the same of a search sink.
var ErrIndexNotEmpty = errs.New("a rebuild replays all of the history into a sink that is empty, and this one is not: give its documents another index")

// retention is what a sink of rows may take for granted that its store remembers.
func (a *assembly) retention(ctx context.Context, store any, sink string, birth state.Birth, table string, pk, sk view.Attribute) (state.Retention, error) {
	if s, ok := store.(view.Emptier); ok && a.rebuild {
		t := view.Target{Table: view.Table{Name: table, PK: pk.Name, SK: sk.Name}, View: sink, Pipeline: a.cfg.Name, Birth: birth.ID}
		switch empty, err := s.Empty(ctx, t); {
		case err != nil:
			return state.Retention{}, err
		case !empty:
			return state.Retention{}, ErrNotEmpty
		}
	}
	return a.sinkRetention(ctx, store, birth)
}

// retentionOfIndex is what a search sink may take for granted that its store remembers.
func (a *assembly) retentionOfIndex(ctx context.Context, store any, birth state.Birth) (state.Retention, error) {
	if s, ok := store.(search.Emptier); ok && a.rebuild {
		switch empty, err := s.Empty(ctx); {
		case err != nil:
			return state.Retention{}, err
		case !empty:
			return state.Retention{}, ErrIndexNotEmpty
		}
	}
	return a.sinkRetention(ctx, store, birth)
}

// sinkRetention is the retention of a sink. Nothing of its output was forgotten since its birth, however old
// the store is.
func (a *assembly) sinkRetention(ctx context.Context, store any, birth state.Birth) (state.Retention, error) {
	var keep time.Duration
	if a.cfg.State != nil {
		keep = a.cfg.State.GuardRetention
	}
	r, err := state.RetentionOf(ctx, store, keep, a.rebuild)
	if birth.Made.After(r.Born) {
		r.Born = birth.Made
	}
	return r, err
}
