package snapshot_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
)

// onlyKey selects the item with this PK.
type onlyKey string

func (k onlyKey) Match(c *record.Change) (bool, error) {
	v, _ := c.New.Get("PK")
	return string(v.Raw()) == string(k), nil
}

// What one process has selected counts for the process that reads the rest.
func TestSource_SelectsNothing(t *testing.T) {
	for key, want := range map[string]bool{"a/0": false, "a/9": false, "a/10": false, "a/19": false, "b/0": true} {
		synctest.Test(t, func(t *testing.T) {
			w := &written{}
			tab := &table{sizes: map[string]int{"a": 20}, page: 2, failAt: map[string]int{"a": 10}}
			store := &partStore{written: w}
			o := snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p1", Narrowing: onlyKey(key)}
			if err := run(t.Context(), t, newSource(t, o), w.sink(), pipeline.Batch{}); !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			if store.parts["a"].Items != 10 {
				t.Fatalf("stored %+v", store.parts["a"])
			}
			tab.failAt, o.Owner = nil, "p2"
			for range 2 { // the second time all parts are done
				src := newSource(t, o)
				if err := run(t.Context(), t, src, w.sink(), pipeline.Batch{}); err != nil {
					t.Fatal(err)
				}
				if got, err := src.SelectsNothing(t.Context()); got != want || err != nil {
					t.Errorf("%s: %t, %v, want %t", key, got, err, want)
				}
			}
		})
	}
}
