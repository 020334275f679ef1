// Package parallel makes a bounded number of calls at once.
package parallel

import (
	"sync"
	"sync/atomic"
)

// Each calls do for every i from 0 to n-1. At most limit calls run at once. Each blocks until all calls have returned.
// The error with index i is the result of do(i).
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
