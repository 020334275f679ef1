package handoff

import (
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline/record"
)

// deliverable returns the shards with unread records whose batches are not being written.
func (w *RepairWorld) deliverable() []*shard {
	return slices.DeleteFunc(w.readable(), func(s *shard) bool { return w.writing[s] != nil })
}

// mayComeLate reports whether a batch may be written late, at any time. In a damaged world, a batch from before the
// damage may not.
func (w *RepairWorld) mayComeLate(b batch) bool {
	return w.shape != damaged || w.rules.Repair.Late || b[0].at > w.damagedAt
}

// deliver reads the next records of a shard. A consumer writes them, or they are given up. What was given up comes back
// later.
func (w *RepairWorld) deliver() {
	shards := w.deliverable()
	if len(shards) == 0 {
		return
	}
	s := shards[w.rand.IntN(len(shards))]
	from := s.position
	to := min(from+1+w.rand.IntN(4), len(s.writes))
	if from == to { // a closed shard ends here
		s.durable = to
		return
	}
	b := batch(s.writes[from:to])
	s.position = to
	w.tell("shard %d: records %d to %d", s.number, from, to-1)
	if w.oneIn(6) && w.mayComeLate(b) {
		w.tell("  are given up, and come back")
		w.givenUp = append(w.givenUp, b)
		return
	}
	if w.oneIn(5) && w.mayComeLate(b) {
		w.late = append(w.late, b)
	}
	p := &process{name: fmt.Sprintf("the consumer of shard %d", s.number)}
	p.ended = func(killed bool) {
		if w.writing[s] != p {
			return
		}
		delete(w.writing, s)
		if !killed && w.oneIn(2) {
			s.durable = to
		}
	}
	w.writing[s] = p
	w.writeLater(p, b)
}

// writeLater starts a process that writes a batch, often at once.
func (w *RepairWorld) writeLater(p *process, b batch) {
	p.batch = b
	w.start(p, func(*process) { w.writeBatch(b) })
	if w.oneIn(3) {
		w.count("a write of the stream is in flight")
		return
	}
	w.finish(p)
}

// writeBatch writes a batch to every sink. Each process has its own sinks.
func (w *RepairWorld) writeBatch(b batch) {
	var cs []*record.Change
	for _, e := range b {
		w.tell("  %s", e)
		cs = append(cs, e.change)
	}
	for i := range w.sinks {
		s := &w.sinks[i]
		if len(w.free[i]) == 0 {
			w.free[i] = append(w.free[i], w.newWriter(s.kind))
		}
		to := w.free[i][0]
		w.free[i] = w.free[i][1:]
		w.applyTo(s, to, cs, false)
		w.free[i] = append(w.free[i], to)
	}
}

// crash makes a shard continue from its checkpoint. A process that writes a batch of the shard is killed, or
// continues together with its successor.
func (w *RepairWorld) crash() {
	s := w.shards[w.rand.IntN(len(w.shards))]
	if p := w.writing[s]; p != nil {
		if w.oneIn(2) || !w.mayComeLate(batch(s.writes[s.durable:])) {
			w.kill(p)
		} else {
			w.count("a process that is late writes")
			delete(w.writing, s)
		}
	}
	if s.position > s.durable {
		w.tell("shard %d is read from %d again", s.number, s.durable)
		w.count("records were read again")
		s.position = s.durable
	}
}

// redeliver writes a batch that a late process still holds, or one that was given up.
func (w *RepairWorld) redeliver() {
	if b, what := w.takeLate(); b != nil {
		w.writeLater(&process{name: what}, b)
	}
}

// behind reports whether a shard was read further than its checkpoint, and no process writes its records.
func (w *RepairWorld) behind(s *shard) bool { return w.writing[s] == nil && s.durable < s.position }

// acknowledge stores the checkpoint of a shard.
func (w *RepairWorld) acknowledge() {
	shards := slices.DeleteFunc(slices.Clone(w.shards), func(s *shard) bool { return !w.behind(s) })
	if len(shards) > 0 {
		s := shards[w.rand.IntN(len(shards))]
		s.durable = s.position
	}
}
