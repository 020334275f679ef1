package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/searchtest"
	"github.com/tablewake/tablewake/sinks/search/sqlite"
	sinkstate "github.com/tablewake/tablewake/sinks/state"
	state "github.com/tablewake/tablewake/sinks/state/sqlite"
)

func TestListers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "views.db")
	var stores []*sqlite.Store
	for _, sink := range []string{"one", "two"} {
		s, err := sqlite.Open(t.Context(), path, search.Owner{Pipeline: "test", Sink: sink}, state.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		stores = append(stores, s)
	}
	if err := stores[1].Create(t.Context(), "others"); err != nil {
		t.Fatal(err)
	}
	searchtest.RunListers(t, stores[0], "docs", "docs2", "others")
	for _, index := range []string{"docs", "docs2", "others"} { // a reader lists the documents of all sinks
		r, err := sqlite.OpenReader(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range r.ListDocuments(t.Context(), index, sinkstate.Listing{}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if want := map[string]int{"docs": 400, "docs2": 1}[index]; n != want {
			t.Errorf("a reader lists %d documents of %s, want %d", n, index, want)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
