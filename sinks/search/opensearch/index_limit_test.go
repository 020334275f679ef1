package opensearch_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// bounded opens a store whose index names are made by a template, with a maximum number of indexes.
func (w *world) bounded(most int) *opensearch.Store {
	o := w.options("-{Tenant}", small)
	o.Indexes.MaxIndexes = most
	return w.begin(o)
}

// A document that would need one index too many fails with a permanent error, which names the index. The existing
// indexes accept documents of every process, whichever process created them.
func TestMaxIndexes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.bounded(2), w.bounded(2)
	apply(t, first, mutation(w.index("-a"), "d", 1))
	apply(t, second, mutation(w.index("-b"), "d", 1))
	for name, s := range map[string]*opensearch.Store{"who made one": first, "who made the other": second, "who made none": w.bounded(2)} {
		for range 2 {
			rs, err := s.Apply(t.Context(), append(muts(w.index("-c"), 1), mutation(w.index("-a"), name, 1), mutation(w.index("-b"), name, 1)))
			if err != nil || rs[1].Err != nil || rs[2].Err != nil {
				t.Fatalf("%s: %v, %v", name, rs, err)
			}
			full, ok := errors.AsType[*opensearch.FullError](rs[0].Err)
			if !ok || full.Index != w.index("-c") || full.Max != 2 {
				t.Fatalf("%s: %v", name, rs[0].Err)
			}
			if _, again := pipeline.Retryable(full); again || pipeline.IsFatal(full) {
				t.Errorf("%s: %v is not permanent", name, full)
			}
			if !strings.Contains(full.Error(), w.index("-c")) || strings.Contains(full.Redacted(), "-c") {
				t.Errorf("%q is shown as %q", full, full.Redacted())
			}
		}
	}
	ask(t, roomy, http.MethodDelete, "/"+w.index("-a.tw1"), "")
	w.renew(first)
	apply(t, w.bounded(2), mutation(w.index("-c"), "d", 1)) // the deleted index no longer counts
}

// Concurrent processes together create no more indexes than the maximum.
func TestMaxIndexes_ManyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	made := make(map[string]bool)
	for range 3 {
		s := w.bounded(3)
		all.Go(func() {
			for n := range 5 {
				index := w.index(fmt.Sprint("-t", n))
				rs, err := s.Apply(t.Context(), muts(index, n))
				if err != nil {
					t.Error(err)
					continue
				}
				if _, full := errors.AsType[*opensearch.FullError](rs[0].Err); !full && rs[0].Err != nil {
					t.Error(rs[0].Err)
				} else if !full {
					mu.Lock()
					made[index] = true
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	names, err := w.bounded(3).Indexes(t.Context())
	if err != nil || len(names) != 3 || len(made) != 3 {
		t.Errorf("%d indexes took documents, and there are %q (%v); want 3", len(made), names, err)
	}
}
