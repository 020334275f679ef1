// Package parallel makes several calls at once.
package parallel

import "sync"

// Each calls do for every i below n, at most limit at once, and blocks until all have returned. The errors are in
// the order of the calls.
func Each(n, limit int, do func(i int) error) []error {
	errs := make([]error, n)
	var calls sync.WaitGroup
	slots := make(chan struct{}, limit)
	for i := range n {
		slots <- struct{}{}
		calls.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(i)
		})
	}
	calls.Wait()
	return errs
}
