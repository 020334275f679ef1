package sinks

import (
	"context"
	"time"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// ErrNotEmpty is the error of [Rebuild] for a view or an aggregate that is not empty.
var ErrNotEmpty = errs.New(
	"a rebuild replays all of the history into a sink that is empty, and this one is not: give the sink a new name, or its rows another table")

// ErrIndexNotEmpty is the error of [Rebuild] for a search index that is not empty.
var ErrIndexNotEmpty = errs.New(
	"a rebuild replays all of the history into a sink that is empty, and this one is not: give its documents another index")

// GuardRetention returns how long the tombstone or guard of a removed row lives.
func GuardRetention(cfg *config.Config) time.Duration {
	if cfg.State == nil {
		return state.DefaultRetention
	}
	return cfg.State.GuardRetention
}

// rowRetention returns the retention of the store of a view or an aggregate. With [Rebuild] it returns [ErrNotEmpty] if
// the sink is not empty.
func (a *assembly) rowRetention(
	ctx context.Context, store any, sink string, birth state.Birth, table view.Table,
) (state.Retention, error) {
	var isEmpty func(context.Context) (bool, error)
	if s, ok := store.(view.Emptier); ok {
		t := view.Target{Table: table, View: sink, Pipeline: a.cfg.Name, Birth: birth.ID}
		isEmpty = func(ctx context.Context) (bool, error) { return s.Empty(ctx, t) }
	}
	return a.sinkRetention(ctx, store, birth, isEmpty, ErrNotEmpty)
}

// sinkRetention returns the retention of a store. If the output began after the store was born, Born in the result is
// the time when the output began. Before that time the store had nothing of the output to forget. With [Rebuild] it
// first begins the rebuild of the output. isEmpty is nil if the store forgets nothing.
func (a *assembly) sinkRetention(
	ctx context.Context, store any, birth state.Birth, isEmpty func(context.Context) (bool, error), notEmpty error,
) (state.Retention, error) {
	if a.rebuild {
		if err := a.beginRebuild(ctx, birth, isEmpty, notEmpty); err != nil {
			return state.Retention{}, err
		}
	}
	r, err := state.LoadRetention(ctx, store, GuardRetention(a.cfg), a.rebuild || a.backfill != nil)
	if birth.Made.After(r.Born) {
		r.Born = birth.Made
	}
	return r, err
}
