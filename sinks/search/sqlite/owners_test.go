package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/searchtest"
	"github.com/tablewake/tablewake/sinks/search/sqlite"
	state "github.com/tablewake/tablewake/sinks/state/sqlite"
)

func TestOwners(t *testing.T) {
	searchtest.RunOwners(t, searchtest.OwnerSuite{
		Open: func(ctx context.Context, dir string, owner search.Owner, _ *template.Template) (searchtest.OwnedStore, error) {
			return sqlite.Open(ctx, filepath.Join(dir, "views.db"), owner, state.Options{})
		},
		Name: func(*testing.T) string { return "owned" },
	})
}

// An empty index belongs to the next sink that opens it. So a name can be used again after a trial.
func TestOwners_AnEmptyIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "views.db")
	for _, sink := range []string{"one", "two"} {
		s, err := sqlite.Open(t.Context(), path, search.Owner{Pipeline: "test", Sink: sink}, state.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Create(t.Context(), "docs"); err != nil {
			t.Errorf("sink %s: %v", sink, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
