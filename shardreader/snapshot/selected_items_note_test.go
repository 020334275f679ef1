package snapshot_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks/state"
)

// onlyKey selects the item with this PK.
type onlyKey string

func (k onlyKey) Match(c *record.Change) (bool, error) {
	v, _ := c.New.Get("PK")
	return string(v.Raw()) == string(k), nil
}

// selecting returns a selection for each key, which has the key as its name.
func selecting(keys ...string) map[string]pipeline.Condition {
	selections := make(map[string]pipeline.Condition)
	for _, key := range keys {
		selections[key] = onlyKey(key)
	}
	return selections
}

// What one process has selected counts for the process that reads the rest, for each selection alone.
func TestSource_Unselected(t *testing.T) {
	for _, keys := range [][]string{{"a/0"}, {"a/9"}, {"a/10"}, {"a/19"}, {"b/0"}, {"a/0", "a/19", "b/0", "b/1"}} {
		var want []string
		for _, key := range keys {
			if strings.HasPrefix(key, "b") {
				want = append(want, key)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			w := &written{}
			tab := &table{sizes: map[string]int{"a": 20}, page: 2, failAt: map[string]int{"a": 10}}
			store := &partStore{written: w}
			o := snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p1", Selections: selecting(keys...)}
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
				if got, err := src.Unselected(t.Context()); !slices.Equal(got, want) || err != nil {
					t.Errorf("%s: %s, %v, want %s", keys, got, err, want)
				}
			}
		})
	}
}

// refusing refuses some writes of parts.
type refusing struct {
	*partStore
	refuses func(state.Part) bool
}

func (r refusing) SetPart(ctx context.Context, expected, next state.Part) (bool, error) {
	if r.refuses(next) {
		return false, errNetwork
	}
	return r.partStore.SetPart(ctx, expected, next)
}

// The note is stored before a position that passes a selected item, whichever of the two writes fails when the process
// is killed.
func TestSource_SelectedNoteComesFirst(t *testing.T) {
	isNote := func(p state.Part) bool { return p.Run != "run" }
	for name, refuses := range map[string]func(state.Part) bool{
		"note":     isNote,
		"position": func(p state.Part) bool { return !isNote(p) && p.Items > 0 },
	} {
		synctest.Test(t, func(t *testing.T) {
			tab := &table{sizes: map[string]int{"a": 20}, page: 2, failAt: map[string]int{"a": 10}}
			store, w := &partStore{}, &written{}
			killed := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: refusing{store, refuses}, Owner: "p1", Selections: selecting("a/3")})
			if err := newPipeline(t, w.sink(), pipeline.Batch{}).Run(t.Context(), killed, killed); err == nil {
				t.Fatal("the process ended well")
			}
			if err := killed.Close(t.Context()); !errors.Is(err, errNetwork) {
				t.Fatal(err)
			}
			_, hasNote := store.parts["run.selected/a/3"]
			if stored := store.parts["a"].Items; stored > 2 || hasNote != (name == "position") || !w.has("a/9") {
				t.Errorf("%s: stored %d, note %t", name, stored, hasNote)
			}
			tab.failAt = nil
			src := newSource(t, snapshot.SourceOptions{Snapshot: tab, Backfills: store, Owner: "p2", Selections: selecting("a/3")})
			if err := run(t.Context(), t, src, w.sink(), pipeline.Batch{}); err != nil {
				t.Fatal(err)
			}
			if got, err := src.Unselected(t.Context()); len(got) > 0 || err != nil || !store.parts["a"].Done {
				t.Errorf("%s: %s, %v", name, got, err)
			}
		})
	}
}
