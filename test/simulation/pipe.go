package simulation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// pipe stands between a worker and the sinks. It takes pages, and writes each change to its sinks. The changes of one
// key are written in order. It repeats failed writes. It acknowledges with one pipeline.Watermark for each partition.
type pipe struct {
	p       *process
	queue   []*pipeline.Page // delivered and not yet taken
	busy    bool             // the next page is being taken
	parts   map[string]*partition
	order   []*partition // partitions with a delivered record
	lanes   map[lane]*laneQueue
	ledgers [sinks]ledger
}

// ledger counts deliveries to a sink. routed = done + revoked + pending, always.
type ledger struct{ routed, done, revoked, pending int }

// partition is one incarnation of a lease in a process.
type partition struct {
	name      string
	shard     *shard
	mark      pipeline.Watermark
	open      int // deliveries that are not finished
	paused    bool
	wasPaused bool // it was paused since the queue last had no page of it
	told      bool // the worker knows that it is paused
	revoked   bool
	draining  bool
	ended     bool            // its last page was delivered
	next      int             // index of the first record of the shard that may be delivered now
	delivered []*streamRecord // delivered records, without those that were taken back
	acked     pipeline.Position
	telling   bool // the message about the pause is in flight
}

// lane is one key of one sink.
type lane struct {
	sink int
	key  string
}

type laneQueue struct {
	lane
	waiting []*write
	busy    bool
}

// write is one change on its way to one sink.
type write struct {
	rec   *streamRecord
	part  *partition
	page  uint64
	tries int
}

func newPipe(p *process) *pipe {
	return &pipe{p: p, parts: map[string]*partition{}, lanes: map[lane]*laneQueue{}}
}

// share is how many unfinished deliveries a partition may have before it is paused.
const share = 60

// deliver receives a page from the worker.
func (q *pipe) deliver(page *pipeline.Page) {
	part := q.p.w.checkDelivered(q.p, page)
	if part == nil {
		return
	}
	q.queue = append(q.queue, page)
	q.p.w.checkAhead(q)
	q.takeNext()
}

// drop removes the pages of a partition that were not taken.
func (q *pipe) drop(name string) {
	part := q.parts[name]
	if part == nil {
		return
	}
	n := len(q.queue)
	q.queue = slices.DeleteFunc(q.queue, func(page *pipeline.Page) bool {
		if page.Partition == name {
			part.delivered = part.delivered[:len(part.delivered)-len(page.Changes)-len(page.Errors)]
			part.ended = part.ended && !page.End
		}
		return page.Partition == name
	})
	if len(q.queue) < n {
		q.p.w.tally.TakenBack++
	}
	if k := len(part.delivered); k > 0 {
		part.next = part.delivered[k-1].index + 1
	}
}

// drain starts the writes that wait for more records of a partition.
func (q *pipe) drain(name string) {
	part := q.parts[name]
	if part == nil || part.revoked || part.draining {
		return
	}
	part.draining = true
	q.p.w.tally.Drains++
	q.wakeAll()
}

// wakeAll checks each lane whose first write may wait for more records.
func (q *pipe) wakeAll() {
	var idle []*laneQueue
	for _, l := range q.lanes {
		if !l.busy && len(l.waiting) > 0 {
			idle = append(idle, l)
		}
	}
	slices.SortFunc(idle, func(a, b *laneQueue) int {
		return cmp.Or(a.sink-b.sink, strings.Compare(a.key, b.key))
	})
	for _, l := range idle {
		q.start(l)
	}
}

// revoke revokes a partition.
func (q *pipe) revoke(name string) {
	part := q.parts[name]
	if part == nil {
		// No record of it was delivered, and none will be.
		q.parts[name] = &partition{name: name, revoked: true}
		return
	}
	if part.revoked {
		return
	}
	part.revoked = true
	q.p.w.tally.Revoked++
	q.queue = slices.DeleteFunc(q.queue, func(page *pipeline.Page) bool { return page.Partition == name })
	q.wakeAll()
}

// takeNext takes the next page after a short delay.
func (q *pipe) takeNext() {
	if q.busy || len(q.queue) == 0 {
		return
	}
	q.busy = true
	q.p.later(q.p.w.between(0, 4*time.Millisecond), func() {
		q.busy = false
		i := slices.IndexFunc(q.queue, func(page *pipeline.Page) bool { return !q.parts[page.Partition].paused })
		if i < 0 {
			return // all pages in the queue are of paused partitions
		}
		page := q.queue[i]
		q.queue = slices.Delete(q.queue, i, i+1)
		q.take(page)
		q.takeNext()
	})
}

// take routes a page.
func (q *pipe) take(page *pipeline.Page) {
	w := q.p.w
	part := q.parts[page.Partition]
	q.p.receive(coordinator.PageTaken{Partition: part.name})
	if !part.paused && !slices.ContainsFunc(q.queue, func(p *pipeline.Page) bool { return p.Partition == part.name }) {
		part.wasPaused = false
	}
	var writes []*write
	var to []lane
	for _, r := range w.recordsOf(page) {
		for s := range sinks {
			if r.routes&(1<<s) != 0 {
				writes, to = append(writes, &write{rec: r, part: part}), append(to, laneOf(r, s))
			}
		}
	}
	id, moved := part.mark.Begin(page.Position, len(writes))
	if moved {
		q.ack(part, page.Position)
	}
	part.open += len(writes)
	var lanes []*laneQueue
	for i, wr := range writes {
		wr.page = id
		lanes = append(lanes, q.enqueue(wr, to[i]))
	}
	// The sink some waits for more records. The other sinks write at once.
	linger := w.plan.Shape.Linger
	for _, l := range lanes {
		waits := l.sink == some && linger > 0 && !part.draining
		if waits {
			q.p.later(linger, func() { q.start(l) })
		} else {
			q.start(l)
		}
	}
	q.pause(part)
}

// laneOf returns the lane of a record in a sink. Each dead letter has a lane of its own.
func laneOf(r *streamRecord, sink int) lane {
	if sink == letters {
		return lane{sink, r.seq}
	}
	return lane{sink, r.key}
}

// enqueue adds a write to its lane, and returns the queue of the lane.
func (q *pipe) enqueue(wr *write, k lane) *laneQueue {
	l := q.lanes[k]
	if l == nil {
		l = &laneQueue{lane: k}
		q.lanes[k] = l
	}
	l.waiting = append(l.waiting, wr)
	q.ledgers[k.sink].routed++
	q.ledgers[k.sink].pending++
	return l
}

// pause tells the worker when a partition exceeds its share, and when it is down to half of its share again.
func (q *pipe) pause(part *partition) {
	begins, ends := !part.paused && part.open > share, part.paused && part.open <= share/2
	if part.revoked || !begins && !ends {
		return
	}
	paused := begins
	part.paused = paused
	if paused {
		part.wasPaused = true
		q.p.w.tally.Paused++
	}
	q.p.later(0, func() {
		part.told = paused
		q.p.step(coordinator.Paused{Partition: part.name, Paused: paused})
		q.takeNext()
	})
}

// start starts the first write of a lane that was not revoked.
func (q *pipe) start(l *laneQueue) {
	w := q.p.w
	if l.busy {
		return
	}
	for len(l.waiting) > 0 && l.waiting[0].part.revoked {
		q.finish(l, true)
	}
	if len(l.waiting) == 0 {
		if q.lanes[l.lane] == l {
			delete(q.lanes, l.lane)
		}
		return
	}
	l.busy = true
	wr := l.waiting[0]
	w.checkSent(q.p, wr, l.sink)
	q.p.deliver(w.sinks[l.sink], wr.rec, func(err error) {
		l.busy = false
		if err == nil {
			q.finish(l, wr.part.revoked)
			q.start(l)
			return
		}
		wr.tries++
		l.busy = true
		q.p.later(min(50*time.Millisecond<<min(wr.tries, 6), 2*time.Second), func() {
			l.busy = false
			q.start(l)
		})
	})
}

// finish removes the first write from a lane.
func (q *pipe) finish(l *laneQueue, revoked bool) {
	wr := l.waiting[0]
	l.waiting = l.waiting[1:]
	book := &q.ledgers[l.sink]
	book.pending--
	wr.part.open--
	if revoked {
		book.revoked++
		return
	}
	book.done++
	if pos, ok := wr.part.mark.Finish(wr.page, 1); ok {
		q.ack(wr.part, pos)
	}
	q.pause(wr.part)
}

// ack tells the worker after a delay how far a partition is durable. Only the latest position is sent.
func (q *pipe) ack(part *partition, pos pipeline.Position) {
	part.acked = pos
	if part.telling {
		return
	}
	part.telling = true
	q.p.later(q.p.w.between(0, 5*time.Millisecond), func() {
		part.telling = false
		if !part.revoked {
			q.p.step(coordinator.Acked{Partition: part.name, Position: part.acked})
		}
	})
}
