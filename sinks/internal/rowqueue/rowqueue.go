// Package rowqueue serializes writes of one process to the same rows.
package rowqueue

import (
	"context"
	"sync"

	"github.com/tablewake/tablewake/pipeline"
)

// Queue lets the writers of a row write it one after the other, in the order of their arrival. Without the queue two
// transactions on one row would conflict, and one of them would be sent again. Writers of other processes are not in
// the queue; the conditions of the writes detect them. The zero Queue is ready, and safe for concurrent use.
type Queue[K comparable] struct {
	mu   sync.Mutex
	last map[K]*turn[K] // row -> the last writer that arrived
}

// turn is a writer in the queues of its rows.
type turn[K comparable] struct {
	earlier  map[K]*turn[K] // row -> the writer that arrived before this one
	released chan struct{}  // release closes it
	// cancelled means that the writer stopped waiting, and released its turn while earlier writers had not. Later
	// writers then also wait for these earlier writers. cancelled is set before released is closed.
	cancelled bool
}

// Wait blocks until all earlier writers of the rows have released them. The caller must call release, also after an
// error. If ctx ends first, Wait returns its cause as a transient error. Wait ignores a zero K, which is not a row. A
// row can be given twice.
//
// A writer of several rows enters the queues of all of them at once, so that writers cannot wait for each other in a
// circle.
func (q *Queue[K]) Wait(ctx context.Context, rows ...K) (release func(), err error) {
	t := q.enter(rows)
	release = func() { q.release(t, rows) }
	if err := t.waitForEarlier(ctx); err != nil {
		t.cancelled = true
		return release, pipeline.Transient(err)
	}
	return release, nil
}

// enter makes a new writer the last one in the queues of its rows.
func (q *Queue[K]) enter(rows []K) *turn[K] {
	t := &turn[K]{earlier: make(map[K]*turn[K]), released: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.last == nil {
		q.last = make(map[K]*turn[K])
	}
	var zero K
	for _, row := range rows {
		last := q.last[row]
		if row == zero || last == t {
			continue
		}
		if last != nil {
			t.earlier[row] = last
		}
		q.last[row] = t
	}
	return t
}

// waitForEarlier blocks until each earlier writer has released its rows. If an earlier writer was cancelled,
// waitForEarlier also waits for the writers before the cancelled one.
func (t *turn[K]) waitForEarlier(ctx context.Context) error {
	for _, earlier := range t.earlier {
		select {
		case <-earlier.released:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !earlier.cancelled {
			continue
		}
		if err := earlier.waitForEarlier(ctx); err != nil {
			return err
		}
	}
	return nil
}

// release lets the writers after t continue, and takes t out of the queues of its rows.
func (q *Queue[K]) release(t *turn[K], rows []K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, row := range rows {
		if q.last[row] != t {
			continue
		}
		if earlier := t.writerBefore(row); earlier != nil {
			q.last[row] = earlier
		} else {
			delete(q.last, row)
		}
	}
	if !t.cancelled { // otherwise later writers wait for the earlier ones
		t.earlier = nil
	}
	close(t.released)
}

// writerBefore returns the last writer of the row that arrived before t and has not released the row. It returns nil if
// there is no such writer.
func (t *turn[K]) writerBefore(row K) *turn[K] {
	if !t.cancelled { // t waited until all earlier writers had released the row
		return nil
	}
	earlier := t.earlier[row]
	if earlier == nil {
		return nil
	}
	select {
	case <-earlier.released:
		return earlier.writerBefore(row)
	default:
		return earlier
	}
}
