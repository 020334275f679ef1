package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/state/statetest"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func TestConformance(t *testing.T) {
	statetest.Run(t, statetest.Suite{
		Open: func(ctx context.Context, dir string) (statetest.Store, error) {
			return sqlite.Open(ctx, filepath.Join(dir, "views.db"), sqlite.Options{})
		},
		State: func(s statetest.Store, pipeline string) state.Store { return s.(*sqlite.DB).State(pipeline) },
	})
}
