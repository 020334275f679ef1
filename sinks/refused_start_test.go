package sinks_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
)

// otherState is a set of stores whose state is another, empty one.
type otherState struct {
	sinks.Stores
	state sinks.Stores
}

func (s otherState) State(ctx context.Context, cfg *config.Config) (state.Store, error) {
	return s.state.State(ctx, cfg)
}

// A start that is refused for one sink records no birth of another sink. Otherwise the state would look as if it had
// never been lost, and after adopt the other sink would be live without the earlier items.
func TestAssemble_RefusedStartRecordsNothing(t *testing.T) {
	open := func() sinks.Stores {
		stores, err := local.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := stores.Close(); err != nil {
				t.Error(err)
			}
		})
		return stores
	}
	const rows = "  rows: {view: {table: rows, key: {PK: '{@key}'}}}\n"
	written, empty := open(), open()
	if _, err := sinks.Assemble(t.Context(), parse(t, head+"sinks:\n"+rows), written); err != nil {
		t.Fatal(err)
	}
	cfg := parse(t, head+"sinks:\n  added: {view: {table: added, key: {PK: '{@key}'}}}\n"+rows)
	_, err := sinks.Assemble(t.Context(), cfg, otherState{written, empty})
	if lost, ok := errors.AsType[*state.LostError](err); !ok || lost.Sink != "rows" {
		t.Fatalf("error %v, want that the state of rows was lost", err)
	}
	store, err := empty.State(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range store.Births(t.Context()) {
		t.Errorf("recorded is the birth of %s (%v)", b.Sink, err)
	}
}
