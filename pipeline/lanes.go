package pipeline

import (
	"slices"
	"sync"
	"time"
)

// lane is the order of one key at one sink. It is there only while a change of the key is being written, has failed,
// or waits behind one that is: a key at rest costs nothing.
type lane struct {
	key   Key
	hash  uint64
	next  *lane // of the same hash
	state laneState
	queue []item // in order; failed ones, to be tried again, are first
	batch *batch // that has changes of it, while it is writing

	letters int  // changes whose dead letters are not durable
	follow  bool // one of these holds the key: the later changes become dead letters too

	wake      time.Time     // of the next try
	attempt   int           // failures since the last success
	retry     []item        // of the batch whose result is applied
	server    time.Duration // the wait that a server asked for
	err       error         // the last failure that is tried again
	expiresAt time.Time     // when its first, which has failed, becomes a dead letter; zero: never

	skipped bool // while the result of a batch is looked at: its later changes are not tried
}

// laneState is what a key waits for at a sink.
//
//	from           event                                                 to
//	idle           a change joins a batch                                writing
//	idle           a change that failed before the sink has its turn     deadLettering, blocked or nacked
//	queued         it is taken into a batch                              writing
//	queued         its first change failed before the sink, or expired   deadLettering, blocked or nacked
//	writing        all of it is finished                                 idle, or queued if more has come
//	writing        a change failed and is tried again                    parked, or blocked if that cannot help
//	writing        a change failed permanently                           deadLettering or nacked
//	writing        the batch counts as no try                            queued
//	parked         the backoff is over, or the failed change is revoked  queued
//	blocked        likewise                                              queued
//	deadLettering  all its letters are durable, or revoked               as after writing
//	nacked         (the end: later changes return to their source too)
//
// blocked is parked where there are neither dead letters nor a source that takes single records back.
type laneState uint8

const (
	idle          laneState = iota // the key has no lane
	queued                         // its queue can be written
	writing                        // a batch has some of it
	parked                         // its first change failed, and waits until wake
	blocked                        // likewise, and its first change can never be written
	deadLettering                  // letters of it are not durable
	nacked                         // its first change returned to the source
)

// pop takes the first of the queue.
func (l *lane) pop() item {
	it := l.queue[0]
	l.queue[0] = item{}
	l.queue = l.queue[1:]
	return it
}

// parking holds parked lanes, the first to wake on top.
type parking = heapOf[*lane]

var _ ordered[*lane] = (*lane)(nil)

func (l *lane) before(other *lane) bool { return l.wake.Before(other.wake) }

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
	page   *inflight
	n      int
	bytes  int64
	items  []item
	slab   []item    // all of items, for the next page
	packed *packed   // nil: it is not
	at     time.Time // when it came
}

func (q *queue) push(items []item, at time.Time) {
	c := chunkOf(items, at)
	q.chunks = append(q.chunks, c)
	q.n += c.n
	q.bytes += c.bytes
}

func chunkOf(items []item, at time.Time) chunk {
	c := chunk{page: items[0].page, n: len(items), items: items, slab: items[:0], at: at}
	for i := range items {
		c.bytes += items[i].size
	}
	return c
}

// cut takes n chunks from the front.
func (q *queue) cut(n int) []chunk {
	cut := slices.Clone(q.chunks[:n])
	clear(q.chunks[:n])
	q.chunks = q.chunks[n:]
	for i := range cut {
		q.n -= cut[i].n
		q.bytes -= cut[i].bytes
	}
	return cut
}

// putBack puts chunks before all others.
func (q *queue) putBack(chunks []chunk) {
	q.chunks = slices.Concat(chunks, q.chunks)
	for i := range chunks {
		q.n += chunks[i].n
		q.bytes += chunks[i].bytes
	}
}

// first is the oldest; the queue must not be empty, or begin with what is packed.
func (q *queue) first() *item { return &q.chunks[0].items[0] }

// since is when the oldest came.
func (q *queue) since() time.Time { return q.chunks[0].at }

// pop takes the oldest. done is the slab of its page when that is used up.
func (q *queue) pop() (it item, done []item) {
	c := &q.chunks[0]
	it = c.items[0]
	c.items[0] = item{} // what is written is not held by what waits behind it
	c.items = c.items[1:]
	c.n--
	c.bytes -= it.size
	if c.n == 0 {
		done = c.slab
		q.chunks[0] = chunk{}
		q.chunks = q.chunks[1:]
	}
	q.n--
	q.bytes -= it.size
	return it, done
}

// slabs keeps the item slices of pages that are through for pages to come. All
// of a slab is zero.
type slabs struct{ pool sync.Pool }

// get is an empty slice with room for n.
func (s *slabs) get(n int) []item {
	if slab, ok := s.pool.Get().(*[]item); ok && cap(*slab) >= n {
		return *slab
	}
	return make([]item, 0, n)
}

func (s *slabs) put(slab []item) { s.pool.Put(&slab) }
