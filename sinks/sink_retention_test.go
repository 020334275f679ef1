package sinks_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// forgetful is a set of old stores that forget removals after the retention.
type forgetful struct {
	discard
	empty bool
}

func (f forgetful) View(context.Context, *config.Config, config.Sink) (view.Store, error) {
	return f, nil
}

func (f forgetful) Apply(_ context.Context, _ view.Target, ms []view.Mutation) ([]view.Result, error) {
	return make([]view.Result, len(ms)), nil
}

func (f forgetful) Search(context.Context, *config.Config, config.Sink) (search.Store, error) {
	return forgetfulIndex{f}, nil
}

// forgetfulIndex is a store of documents with the same properties as forgetful.
type forgetfulIndex struct{ of forgetful }

func (f forgetfulIndex) Apply(_ context.Context, ms []search.Mutation) ([]search.Result, error) {
	return make([]search.Result, len(ms)), nil
}

func (f forgetfulIndex) StoreAge(ctx context.Context) (state.StoreAge, error) {
	return f.of.StoreAge(ctx)
}

func (f forgetfulIndex) Empty(context.Context) (bool, error) { return f.of.empty, nil }

func (f forgetful) StoreAge(context.Context) (state.StoreAge, error) {
	return state.StoreAge{Born: time.Unix(0, 0), Forgets: true}, nil
}

func (f forgetful) Empty(_ context.Context, t view.Target) (bool, error) {
	return f.empty && t == (view.Target{Table: view.Table{Name: "v", PK: "PK"}, View: "orders", Pipeline: "shop"}), nil
}

// A change that is older than the retention becomes a dead letter. It is written if the file has a longer retention, or
// if a rebuild fills an empty sink.
func TestChangesOfOld(t *testing.T) {
	const view = "sinks: {orders: {view: {table: v, key: {PK: '{@key}'}}}}\n"
	const index = "sinks: {docs: {search: {index: d}}}\n"
	for name, test := range map[string]struct {
		file    string
		empty   bool
		opts    []sinks.Option
		written int64
	}{
		"30 days":       {file: view},
		"its retention": {file: view + "state: {table: s, guard_retention: 36500d}\n", written: 1},
		"a rebuild":     {file: view, empty: true, opts: []sinks.Option{sinks.Rebuild()}, written: 1},
	} {
		p, err := sinks.Assemble(t.Context(), parse(t, head+test.file), forgetful{empty: test.empty}, test.opts...)
		if err != nil {
			t.Fatal(err)
		}
		old := insert(t, "A", `"Status":{"S":"paid"}`)
		old.Time = time.Now().Add(-40 * 24 * time.Hour)
		if err := p.Run(t.Context(), source(old), nil); err != nil {
			t.Fatal(err)
		}
		if l := p.Ledger().Sinks["orders"]; l.Written != test.written || l.DeadLettered != 1-test.written {
			t.Errorf("%s: %+v, want %d written and the rest in dead letters", name, l, test.written)
		}
	}
	for name, test := range map[string]struct {
		empty   bool
		opts    []sinks.Option
		written int64
	}{
		"30 days":   {},
		"a rebuild": {empty: true, opts: []sinks.Option{sinks.Rebuild()}, written: 1},
	} {
		p, err := sinks.Assemble(t.Context(), parse(t, head+index), forgetful{empty: test.empty}, test.opts...)
		if err != nil {
			t.Fatal(err)
		}
		old := insert(t, "A", `"Status":{"S":"paid"}`)
		old.Time = time.Now().Add(-40 * 24 * time.Hour)
		if err := p.Run(t.Context(), source(old), nil); err != nil {
			t.Fatal(err)
		}
		if l := p.Ledger().Sinks["docs"]; l.Written != test.written || l.DeadLettered != 1-test.written {
			t.Errorf("documents, %s: %+v, want %d written and the rest in dead letters", name, l, test.written)
		}
	}
	_, err := sinks.Assemble(t.Context(), parse(t, head+index), forgetful{}, sinks.Rebuild())
	if !errors.Is(err, sinks.ErrIndexNotEmpty) {
		t.Errorf("a rebuild into an index that is not empty: %v", err)
	}
	_, err = sinks.Assemble(t.Context(), parse(t, head+view), forgetful{}, sinks.Rebuild())
	if err == nil || !strings.Contains(err.Error(), "tablewake.yaml:4: sinks.orders: ") || !strings.Contains(err.Error(), "into a sink that is empty") {
		t.Errorf("a rebuild into a sink that is not empty: %v", err)
	}
}
