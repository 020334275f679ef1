package pipeline

import (
	"iter"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
)

// lane is the order of one key at one sink. It is there only while a change of the key is being written, has failed,
// or waits behind one that is: a key at rest costs nothing.
type lane struct {
	key   item.Key
	hash  uint64
	next  *lane // of the same hash
	state laneState
	queue deliveryList // in order; failed ones, to be tried again, are first
	batch *batch       // that has changes of it, while it is writing

	letters         int  // changes whose dead letters are not durable
	quarantinesRest bool // within one step: one of these quarantines the key, and the queue becomes dead letters too

	retryAt    time.Time     // the next try
	attempt    int           // failures since the last success
	retries    deliveryList  // of the batch whose result is applied
	serverWait time.Duration // the wait that a server asked for
	err        error         // the last failure that is tried again
	expiresAt  time.Time     // when its first, which has failed, becomes a dead letter; zero: never

	skipped bool // while a batch is written: the key is in quarantine, or an earlier change failed, and the rest is not tried
}

// laneState is what a key waits for at a sink.
//
//	from           event                                                 to
//	idle           a change joins a batch                                writing
//	idle           a change that failed before the sink has its turn     deadLettering, blocked or nacked
//	queued         it is taken into a batch                              writing
//	queued         its first change failed before the sink, or expired   deadLettering, blocked or nacked
//	queued         all of it is revoked                                  idle
//	writing        all of it is finished                                 idle, or queued if more has come
//	writing        a change failed and is tried again                    parked, or blocked if that cannot help
//	writing        a change failed permanently                           deadLettering or nacked
//	writing        the batch was no attempt: a Write was cancelled for   queued
//	               a revoked partition, or a plan failed
//	writing        a hard stop                                           idle, with the changes still pending
//	parked         the backoff is over, or the failed change is revoked  queued
//	parked         all of it is revoked                                  idle
//	blocked        as parked                                             as parked
//	deadLettering  all its letters are durable, or revoked               as after writing
//	nacked         (the end: later changes return to their source too)
//
// A lane is blocked instead of parked if its first change can never be written, and there are neither dead letters nor a
// source that takes single records back.
type laneState uint8

const (
	idle          laneState = iota // the key has no lane
	queued                         // its queue can be written
	writing                        // a batch has some of it
	parked                         // its first change failed, and waits until retryAt
	blocked                        // likewise, and its first change can never be written
	deadLettering                  // letters of it are not durable
	nacked                         // its first change returned to the source
)

// deliveryList is a list of items, linked by next.
type deliveryList struct{ first, last *queuedDelivery }

func (q *deliveryList) push(qd *queuedDelivery) {
	if q.first == nil {
		q.first = qd
	} else {
		q.last.next = qd
	}
	q.last, qd.next = qd, nil
}

// pop takes the first; nil if there is none.
func (q *deliveryList) pop() *queuedDelivery {
	qd := q.first
	if qd != nil {
		q.first, qd.next = qd.next, nil
	}
	return qd
}

// all yields the items. The one that was yielded can leave the list.
func (q *deliveryList) all() iter.Seq[*queuedDelivery] {
	return func(yield func(*queuedDelivery) bool) {
		for qd := q.first; qd != nil; {
			next := qd.next
			if !yield(qd) {
				return
			}
			qd = next
		}
	}
}

// replaceEach replaces every item by what f makes of it; nil: it leaves the list.
func (q *deliveryList) replaceEach(f func(*queuedDelivery) *queuedDelivery) {
	var kept deliveryList
	for qd := q.pop(); qd != nil; qd = q.pop() {
		if qd = f(qd); qd != nil {
			kept.push(qd)
		}
	}
	*q = kept
}

// laneHeap holds parked lanes, the first to wake on top.
type laneHeap = heapOf[*lane]

var _ ordered[*lane] = (*lane)(nil)

func (l *lane) before(other *lane) bool { return l.retryAt.Before(other.retryAt) }

// ordered is what a heap can hold.
type ordered[T any] interface{ before(other T) bool }

// heapOf is a heap, for package heap.
type heapOf[T ordered[T]] []T

func (h heapOf[T]) Len() int           { return len(h) }
func (h heapOf[T]) Less(i, j int) bool { return h[i].before(h[j]) }
func (h heapOf[T]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heapOf[T]) Push(x any)        { *h = append(*h, x.(T)) }
func (h *heapOf[T]) Pop() any {
	old := *h
	x := old[len(old)-1]
	clear(old[len(old)-1:])
	*h = old[:len(old)-1]
	return x
}

// queue holds what a sink has not looked at yet, in the order of the source, by
// the page.
type queue struct {
	chunks []chunk
	n      int
	bytes  int64
}

// chunk is what waits of a page. Where it is packed there are no items.
type chunk struct {
	page       *inflightPage
	n          int
	bytes      int64
	deliveries []queuedDelivery
	packed     *packed   // nil: it is not
	addedAt    time.Time // when it came
}

func (q *queue) push(items []queuedDelivery, at time.Time) {
	c := newChunk(items, at)
	q.chunks = append(q.chunks, c)
	q.n += c.n
	q.bytes += c.bytes
}

func newChunk(items []queuedDelivery, at time.Time) chunk {
	c := chunk{page: items[0].page, n: len(items), deliveries: items, addedAt: at}
	for i := range items {
		c.bytes += items[i].size
	}
	return c
}

// takeChunks takes n chunks from the front.
func (q *queue) takeChunks(n int) []chunk {
	cut := slices.Clone(q.chunks[:n])
	clear(q.chunks[:n])
	q.chunks = q.chunks[n:]
	for i := range cut {
		q.n -= cut[i].n
		q.bytes -= cut[i].bytes
	}
	return cut
}

// pushFront puts chunks before all others.
func (q *queue) pushFront(chunks []chunk) {
	q.chunks = slices.Concat(chunks, q.chunks)
	for i := range chunks {
		q.n += chunks[i].n
		q.bytes += chunks[i].bytes
	}
}

// first is the oldest; the queue must not be empty, or begin with what is packed.
func (q *queue) first() *queuedDelivery { return &q.chunks[0].deliveries[0] }

// oldestAt is when the oldest came.
func (q *queue) oldestAt() time.Time { return q.chunks[0].addedAt }

// pop takes the oldest.
func (q *queue) pop() *queuedDelivery {
	c := &q.chunks[0]
	qd := &c.deliveries[0]
	c.deliveries = c.deliveries[1:]
	c.n--
	c.bytes -= qd.size
	if c.n == 0 {
		q.chunks[0] = chunk{}
		q.chunks = q.chunks[1:]
	}
	q.n--
	q.bytes -= qd.size
	return qd
}
