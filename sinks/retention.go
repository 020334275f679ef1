package sinks

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// ErrNotEmpty is the error of [Rebuild] for a view or an aggregate that is not empty.
var ErrNotEmpty = errs.New("a rebuild replays all of the history into a sink that is empty, and this one is not: give the sink a new name, or its rows another table")

// ErrIndexNotEmpty is the error of [Rebuild] for a search index that is not empty.
var ErrIndexNotEmpty = errs.New("a rebuild replays all of the history into a sink that is empty, and this one is not: give its documents another index")

// rowRetention returns how long the store of a view or an aggregate keeps its guards. With Rebuild
// it checks that the sink is empty.
func (a *assembly) rowRetention(ctx context.Context, store any, sink string, birth state.Birth, table string, pk, sk view.Attribute) (state.Retention, error) {
	if s, ok := store.(view.Emptier); ok && a.rebuild && !isRebuilding(birth) {
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

// indexRetention returns how long the store of a search sink keeps its tombstones. With Rebuild it
// checks that the index is empty.
func (a *assembly) indexRetention(ctx context.Context, store any, birth state.Birth) (state.Retention, error) {
	if s, ok := store.(search.Emptier); ok && a.rebuild && !isRebuilding(birth) {
		switch empty, err := s.Empty(ctx); {
		case err != nil:
			return state.Retention{}, err
		case !empty:
			return state.Retention{}, ErrIndexNotEmpty
		}
	}
	return a.sinkRetention(ctx, store, birth)
}

// sinkRetention returns the retention of a store. It starts at the birth of the output if that is
// later than the store's: nothing of the output was forgotten before.
func (a *assembly) sinkRetention(ctx context.Context, store any, birth state.Birth) (state.Retention, error) {
	if err := a.beginRebuild(birth); err != nil {
		return state.Retention{}, err
	}
	var keep time.Duration
	if a.cfg.State != nil {
		keep = a.cfg.State.GuardRetention
	}
	r, err := state.LoadRetention(ctx, store, keep, a.rebuild || a.backfill != nil)
	if birth.Made.After(r.Born) {
		r.Born = birth.Made
	}
	return r, err
}
