// Package parallel makes several calls at once.
package parallel

import (
	"sync"
	"sync/atomic"
)

// Each calls do for every i below n, at most limit at once, and blocks until all have returned. The errors are in
// the order of the calls.
func Each(n, limit int, do func(i int) error) []error {
	errs := make([]error, n)
	if n == 1 || limit == 1 {
		for i := range errs {
			errs[i] = do(i)
		}
		return errs
	}
	var next atomic.Int64
	var callers sync.WaitGroup
	for range min(n, limit) {
		callers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				errs[i] = do(int(i))
			}
		})
	}
	callers.Wait()
	return errs
}
