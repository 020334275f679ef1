package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/searchtest"
	"github.com/tablewake/tablewake/sinks/search/sqlite"
	state "github.com/tablewake/tablewake/sinks/state/sqlite"
)

func TestRepairs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "search.db")
	owner := search.Owner{Pipeline: "test", Sink: "one"}
	exec := func(t *testing.T, query string, args ...any) {
		t.Helper()
		db, err := state.Open(t.Context(), path, state.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.Write(t.Context(), func(w *state.Writer) error { return w.Exec(query, args...) }); err != nil {
			t.Fatal(err)
		}
	}
	open := func(t *testing.T, owner search.Owner) *sqlite.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, owner, state.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	searchtest.RunRepairs(t, searchtest.RepairSuite{
		Index: "docs",
		Open:  func(t *testing.T) searchtest.RepairedStore { return open(t, owner) },
		Set: func(t *testing.T, id, doc string) {
			exec(t, `UPDATE "_tws_documents" SET source = ? WHERE id = ?`, doc, id)
		},
		Remove: func(t *testing.T, id string) { exec(t, `DELETE FROM "_tws_documents" WHERE id = ?`, id) },
	})
	t.Run("Owner", func(t *testing.T) {
		searchtest.RunRepairOwners(t.Context(), t, owner, "docs", open(t, search.Owner{Pipeline: "test", Sink: "two"}))
	})
}
