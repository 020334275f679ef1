package local_test

import (
	"context"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/sinks/state"
)

// If a backfill changes the stage of a sink while a consumer starts, the consumer records that the sink has begun and
// keeps the stage of the backfill.
func TestBegin_WhileTheStageMoves(t *testing.T) {
	cfg, err := config.Parse("tablewake.yaml", []byte(`
version: 1
name: shop
source: {table: shop}
state: {table: shop-state}
sinks:
  orders: {view: {table: rows, key: {PK: "{PK}"}}}
`), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	opened, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	stores := &movingStores{Stores: opened}
	if _, err := sinks.Assemble(t.Context(), cfg, stores); err != nil {
		t.Fatal(err)
	}
	b, found, err := state.FindBirth(t.Context(), stores.state, "orders", "table rows")
	if err != nil || !found || !b.Begun || b.Stage != state.Filling || b.Run != "run" || !stores.state.moved {
		t.Errorf("the birth is %+v (%v), and the stage moved: %v", b, err, stores.state.moved)
	}
}

// movingStores is a set of stores with a movingState.
type movingStores struct {
	*local.Stores
	state *movingState
}

func (s *movingStores) State(ctx context.Context, cfg *config.Config) (state.Store, error) {
	store, err := s.Stores.State(ctx, cfg)
	s.state = &movingState{Store: store}
	return s.state, err
}

// movingState is a state store in which a backfill changes the stage of a birth before the first SetBirth.
type movingState struct {
	state.Store
	moved bool
}

func (s *movingState) SetBirth(ctx context.Context, expected, next state.Birth) (bool, error) {
	if !s.moved {
		filling := expected
		filling.Stage, filling.Run = state.Filling, "run"
		var err error
		if s.moved, err = s.Store.SetBirth(ctx, expected, filling); err != nil {
			return false, err
		}
	}
	return s.Store.SetBirth(ctx, expected, next)
}
