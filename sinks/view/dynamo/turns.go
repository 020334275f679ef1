package dynamo

import (
	"context"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
)

// turns lets those of this process who write one row take turns, in the order in
// which they came: two transactions at once on one item are in conflict, and one of them
// would have to be sent again. Others of other processes are met by conditions alone.
type turns[K comparable] struct {
	mu   sync.Mutex
	last map[K]chan struct{} // by row, closed when the last one who came is done
}

// take waits until all rows are free of those who came before. done ends the turn, also
// where ctx ended the waiting. Who takes several rows has a place at all of them at
// once, so that nobody waits in a circle.
func (q *turns[K]) take(ctx context.Context, rows []K) (done func(), err error) {
	mine := make(chan struct{})
	var before []chan struct{}
	q.mu.Lock()
	if q.last == nil {
		q.last = make(map[K]chan struct{})
	}
	for _, row := range rows {
		if last := q.last[row]; last != nil {
			before = append(before, last)
		}
		q.last[row] = mine
	}
	q.mu.Unlock()
	done = func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		for _, row := range rows {
			if q.last[row] == mine {
				delete(q.last, row)
			}
		}
		close(mine)
	}
	for _, b := range before {
		select {
		case <-b:
		case <-ctx.Done():
			return done, pipeline.Transient(context.Cause(ctx))
		}
	}
	return done, nil
}
