package pipeline

import (
	"iter"
	"slices"
	"time"
)

// queuedDelivery is a delivery inside the pipeline. It stays where it was planned, in the arena of its page, until it is
// finished or cloned.
type queuedDelivery struct {
	d      Delivery // as planned; a Write gets a copy
	page   *inflightPage
	lane   *lane           // of its key, once it has left the queue of its sink
	next   *queuedDelivery // in its lane
	hash   uint64          // of the key
	size   int64           // bytes of the record
	fail   *failure        // why it can never be written; it still takes its turn in its key's order
	cloned bool            // out of its page, which it does not pin

	unplanned bool // cloned since its plan, which was in the page's memory
}

// failure is why a change is given up.
type failure struct {
	class string
	err   error
}

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

// queue holds what a sink has not looked at yet, in the order of the source, by
// the page.
type queue struct {
	chunks []chunk
	n      int
	bytes  int64
}

func (q *queue) push(items []queuedDelivery, at time.Time) {
	c := newChunk(items, at)
	q.chunks = append(q.chunks, c)
	q.n += c.n
	q.bytes += c.bytes
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

// chunk is what waits of a page. Where it is packed there are no items.
type chunk struct {
	page       *inflightPage
	n          int
	bytes      int64
	deliveries []queuedDelivery
	packed     *packed   // nil: it is not
	addedAt    time.Time // when it came
}

func newChunk(items []queuedDelivery, at time.Time) chunk {
	c := chunk{page: items[0].page, n: len(items), deliveries: items, addedAt: at}
	for i := range items {
		c.bytes += items[i].size
	}
	return c
}
