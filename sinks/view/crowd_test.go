package view_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// busy is a store that lets other goroutines write between the reads of a process and its writes.
type busy struct{ *shelf }

func (s busy) RowClaims(ctx context.Context, t view.Target, rows []state.Row) ([]view.RowClaims, error) {
	rcs, err := s.shelf.RowClaims(ctx, t, rows)
	for range 1000 {
		runtime.Gosched()
	}
	return rcs, err
}

// Concurrent writes of one process to the same few rows lose races to each other, but none of them fails.
func TestCrowdOnAFewRows(t *testing.T) {
	const writers, items = 8, 400
	store := newShelf()
	s := newSink(t, byEmail(t, busy{store}, view.KeepLast))
	var rs []sinktest.Record
	for i := range items {
		rs = append(rs, moved(fmt.Sprint(i), "", fmt.Sprint(i%3), "x"), moved(fmt.Sprint(i), fmt.Sprint(i%3), fmt.Sprint(i%2), "y"))
	}
	cs := changes(t, rs...)
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := 2 * w; i < len(cs) && errs[w] == nil; i += 2 * writers { // one writer has all changes of an item
				ds := make([]pipeline.Delivery, 2)
				for k := range ds {
					ds[k].Change = cs[i+k]
					errs[w] = errors.Join(errs[w], s.Plan(&ds[k]))
				}
				errs[w] = errors.Join(errs[w], s.Write(t.Context(), ds))
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if got, want := holders(t, store), fmt.Sprintf("0=%d y, 1=%d y", items-2, items-1); got != want {
		t.Errorf("the rows are %s, want %s", got, want)
	}
}
