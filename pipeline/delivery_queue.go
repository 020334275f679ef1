package pipeline

import (
	"iter"
	"slices"
	"time"
)

// queuedDelivery is a delivery inside the pipeline. It stays in the arena of its page, where its plan is too, until it
// is finished or cloned.
type queuedDelivery struct {
	Delivery  // with its plan; a Write receives a copy
	page      *inflightPage
	lane      *lane           // the lane of its key; nil while it is ready
	next      *queuedDelivery // the next delivery of a deliveryList
	hash      uint64          // hash of the key
	size      int64           // bytes of the record
	fail      *failure        // a permanent failure, which is handled in the order of the key; nil: none
	cloned    bool            // it owns its bytes and does not pin its page
	unplanned bool            // its plan was dropped when it was cloned, because the plan is in the page's memory
}

// failure is the reason why a change can never be written, with the class of its dead letter.
type failure struct {
	class string
	err   error
}

// deliveryList is a linked list of deliveries.
type deliveryList struct{ first, last *queuedDelivery }

func (q *deliveryList) push(delivery *queuedDelivery) {
	if q.first == nil {
		q.first = delivery
	} else {
		q.last.next = delivery
	}
	q.last, delivery.next = delivery, nil
}

// pop removes and returns the first delivery. It returns nil if there is none.
func (q *deliveryList) pop() *queuedDelivery {
	delivery := q.first
	if delivery != nil {
		q.first, delivery.next = delivery.next, nil
	}
	return delivery
}

// all yields the deliveries. The loop can remove the yielded delivery from the list.
func (q *deliveryList) all() iter.Seq[*queuedDelivery] {
	return func(yield func(*queuedDelivery) bool) {
		for delivery := q.first; delivery != nil; {
			next := delivery.next
			if !yield(delivery) {
				return
			}
			delivery = next
		}
	}
}

// replaceEach replaces each delivery by the result of f. It removes a delivery if the result is nil.
func (q *deliveryList) replaceEach(f func(*queuedDelivery) *queuedDelivery) {
	var kept deliveryList
	for delivery := q.pop(); delivery != nil; delivery = q.pop() {
		if replacement := f(delivery); replacement != nil {
			kept.push(replacement)
		}
	}
	*q = kept
}

// queue has the deliveries of a sink that are in no lane yet, in the order of the source.
type queue struct {
	chunks []chunk
	count  int   // deliveries
	bytes  int64 // size of their records
}

func (q *queue) push(deliveries []queuedDelivery, at time.Time) {
	c := newChunk(deliveries, at)
	q.chunks = append(q.chunks, c)
	q.count += c.count
	q.bytes += c.bytes
}

// markDue makes the first n chunks due.
func (q *queue) markDue(n int) {
	for i := n - 1; i >= 0 && !q.chunks[i].due; i-- {
		q.chunks[i].due = true
	}
}

// startsDue reports whether the first chunk is due. It returns false if the queue is empty.
func (q *queue) startsDue() bool { return q.count > 0 && q.chunks[0].due }

// takeChunks removes the first n chunks.
func (q *queue) takeChunks(n int) []chunk {
	taken := slices.Clone(q.chunks[:n])
	clear(q.chunks[:n])
	q.chunks = q.chunks[n:]
	for i := range taken {
		q.count -= taken[i].count
		q.bytes -= taken[i].bytes
	}
	return taken
}

// pushFront inserts chunks before all other chunks.
func (q *queue) pushFront(chunks []chunk) {
	q.chunks = slices.Concat(chunks, q.chunks)
	for i := range chunks {
		q.count += chunks[i].count
		q.bytes += chunks[i].bytes
	}
}

// first returns the oldest delivery. The queue must not be empty, and its first chunk must not be packed.
func (q *queue) first() *queuedDelivery { return &q.chunks[0].deliveries[0] }

// startsPacked reports whether the first chunk is packed. It returns false if the queue is empty.
func (q *queue) startsPacked() bool { return q.count > 0 && q.chunks[0].packed != nil }

// startsUnpacked reports whether the first chunk is not packed. It returns false if the queue is empty.
func (q *queue) startsUnpacked() bool { return q.count > 0 && q.chunks[0].packed == nil }

// oldestAt returns when the oldest delivery was added. The queue must not be empty.
func (q *queue) oldestAt() time.Time { return q.chunks[0].addedAt }

// pop removes and returns the oldest delivery. It has the same conditions as first.
func (q *queue) pop() *queuedDelivery {
	c := &q.chunks[0]
	delivery := &c.deliveries[0]
	c.deliveries = c.deliveries[1:]
	c.count--
	c.bytes -= delivery.size
	if c.count == 0 {
		q.chunks[0] = chunk{}
		q.chunks = q.chunks[1:]
	}
	q.count--
	q.bytes -= delivery.size
	return delivery
}

// chunk has the deliveries of one page that wait in a queue.
type chunk struct {
	page       *inflightPage
	count      int              // deliveries
	bytes      int64            // size of their records
	deliveries []queuedDelivery // nil if the chunk is packed
	packed     *packed          // nil if the chunk is not packed
	addedAt    time.Time
	due        bool // its deliveries do not wait for a full batch; then the chunks before it are due too
}

// pinsPage reports whether the deliveries refer to the memory of their page.
func (c *chunk) pinsPage() bool { return c.packed == nil && !c.deliveries[0].cloned }

func newChunk(deliveries []queuedDelivery, at time.Time) chunk {
	c := chunk{page: deliveries[0].page, count: len(deliveries), deliveries: deliveries, addedAt: at}
	for i := range deliveries {
		c.bytes += deliveries[i].size
	}
	return c
}
