package dynamo

import (
	"context"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
)

// rowQueue makes the writers of this process write a row one after the other, in the order of their arrival. Two
// transactions on one item conflict, and one of them would be sent again. Writers of other processes are not in the
// queue: conditions detect them.
type rowQueue[K comparable] struct {
	mu   sync.Mutex
	last map[K]chan struct{} // by row: closed when the last writer of the row is finished
}

// wait waits until all earlier writers of the rows are finished. The caller must call release, even after an error.
// A writer of several rows enters the queues of all of them at once, so that writers cannot wait for each other in
// a circle.
func (q *rowQueue[K]) wait(ctx context.Context, rows []K) (release func(), err error) {
	released := make(chan struct{})
	var earlier []chan struct{}
	q.mu.Lock()
	if q.last == nil {
		q.last = make(map[K]chan struct{})
	}
	for _, row := range rows {
		if last := q.last[row]; last != nil {
			earlier = append(earlier, last)
		}
		q.last[row] = released
	}
	q.mu.Unlock()
	release = func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		for _, row := range rows {
			if q.last[row] == released {
				delete(q.last, row)
			}
		}
		close(released)
	}
	for _, e := range earlier {
		select {
		case <-e:
		case <-ctx.Done():
			return release, pipeline.Transient(context.Cause(ctx))
		}
	}
	return release, nil
}
