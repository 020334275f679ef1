package searchtest

import (
	"errors"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// Births checks that a store which compares versions also compares births (the random ids of outputs). The store may
// replace a document or a tombstone only by a mutation with the same birth. Another birth is a fatal error, whatever
// the versions are. index is the name of an empty index.
func Births(t *testing.T, store search.Store, index string) {
	t.Helper()
	for id, kind := range map[string]documentKind{"document": live, "tombstone": deleted} {
		if err := applyAll(t, store, document(index, id, 2, "first", kind)); err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= 3; n++ {
			for _, m := range []search.Mutation{
				document(index, id, n, "second", live), document(index, id, n, "second", deleted),
				document(index, id, n, "", live), document(index, id, n, "", deleted),
			} {
				err := applyAll(t, store, m)
				if _, lost := errors.AsType[*state.LostError](err); !lost || !pipeline.IsFatal(err) {
					t.Errorf("version %d of the birth %q over the %s: %v, want a fatal LostError", n, m.Birth, id, err)
				}
			}
		}
		if err := applyAll(t, store, document(index, id, 3, "first", kind)); err != nil {
			t.Errorf("the %s of its own birth: %v", id, err)
		}
	}
}
