package parallel_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/sinks/internal/parallel"
)

// As many calls run at once as there may, and each has its error.
func TestEach(t *testing.T) {
	odd := errors.New("odd")
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		errs := parallel.Each(10, 3, func(i int) error {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			if i%2 == 1 {
				return odd
			}
			return nil
		})
		for i, err := range errs {
			if want := i%2 == 1; errors.Is(err, odd) != want {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if len(errs) != 10 || most.Load() != 3 || running.Load() != 0 {
			t.Errorf("%d results, %d at once, %d still run", len(errs), most.Load(), running.Load())
		}
	})
}
