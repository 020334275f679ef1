package worker

import (
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// maxWrites is how many leases are written at once.
const maxWrites = 64

// gated writes a lease, or has it wait for others that are being written.
func (w *Worker) gated(write func()) {
	if w.writing == maxWrites {
		w.gate = append(w.gate, write)
		return
	}
	w.writing++
	write()
}

// passed ends what gated began: with the answer, or without a write.
func (w *Worker) passed() {
	w.writing--
	if len(w.gate) > 0 {
		write := w.gate[0]
		if w.gate = w.gate[1:]; len(w.gate) == 0 {
			w.gate = nil
		}
		w.writing++
		write()
	}
}

// swap writes a lease, and calls done when it is known what became of it: nil for
// written, a *leases.Conflict for refused, another error where nobody knows.
//
// An answer that was lost leaves open whether the write happened. With insist the
// same write is sent again until that is known, for as long as insist says so; a
// conflict with the very thing that was to be written means that it had happened.
func (w *Worker) swap(r *row, next leases.Lease, insist func() bool, done func(error)) {
	w.rows.writing(r)
	old := r.Lease
	attempt := 0
	var send func()
	send = func() {
		w.do(Swap{on(w, func(e Done) {
			w.passed()
			err := e.Err
			if c, ok := leases.AsConflict(err); ok && c.Did(next) {
				err = nil
			}
			if _, ok := leases.AsConflict(err); err != nil && !ok && insist != nil && insist() {
				w.reach.err = err
				after, _ := pipeline.Retryable(err)
				w.tellOnce("swap "+r.Shard, slog.LevelWarn, "a lease cannot be written and is tried again", shardAttr(r.Shard), errAttr(err))
				w.after(w.backoff(attempt, 2*time.Second, after), func() {
					if insist() {
						w.gated(send)
						return
					}
					w.wrote(r, done, err)
				})
				attempt++
				return
			}
			if err == nil {
				if attempt > 0 {
					delete(w.told, "swap "+r.Shard)
				}
				w.rows.change(r, next)
				r.unchangedSince, r.knownAt, r.confirmedAt = w.now, w.now, w.now
			}
			w.wrote(r, done, err)
		}), old, next})
	}
	w.gated(send)
}

// wrote ends a write of a lease, and does what waited for that.
func (w *Worker) wrote(r *row, done func(error), err error) {
	w.rows.written(r, w.now)
	done(err)
	switch {
	case r.assignment != nil:
		w.save(r.assignment)
	case w.leaving:
		w.letGo(r)
	}
}

// known tells whether a row is still the one that the worker knows of its shard.
func (w *Worker) known(r *row) bool { return w.rows.of(r.Shard) == r }

// refused takes in the conflict of a write.
func (w *Worker) refused(r *row, err error) {
	c, ok := leases.AsConflict(err)
	if !ok || !w.known(r) {
		return
	}
	if c.Gone {
		w.forget(r)
		return
	}
	w.learn(r, c.Now, w.now)
	if r.assignment != nil {
		w.lose(r.assignment)
	}
}

// takeNext takes the leases that were chosen, some at a time.
func (w *Worker) takeNext() {
	for len(w.takes) > 0 && w.taking < maxWrites && w.heartbeatFresh() && !w.leaving {
		r := w.takes[0]
		w.takes = w.takes[1:]
		if !w.known(r) || r.busy || !w.free(r) {
			continue
		}
		next := r.Clone()
		next.Owner = w.o.Worker
		next.Counter++
		next.Wanted = ""
		w.taking++
		w.swap(r, next, nil, func(err error) {
			w.taking--
			if err == nil {
				w.tell(slog.LevelInfo, "took a lease", shardAttr(r.Shard), slog.String("checkpoint", r.Checkpoint.String()))
				w.tryOpen(r)
			} else {
				w.refused(r, err)
			}
			w.takeNext()
		})
	}
}

// create adds a lease that is missing. done is told once it is there, whoever made it.
func (w *Worker) create(l leases.Lease, insist func() bool, done func(err error)) {
	switch {
	case w.rows.of(l.Shard) != nil:
		done(nil)
		return
	case w.creating[l.Shard]:
		done(errBeingMade)
		return
	}
	attempt := 0
	var send func()
	finished := done
	done = func(err error) {
		delete(w.creating, l.Shard)
		w.made = w.now
		finished(err)
	}
	w.creating[l.Shard] = true
	send = func() {
		if !insist() {
			w.passed()
			done(errNotWanted)
			return
		}
		w.do(Create{on(w, func(e Done) {
			w.passed()
			c, conflict := leases.AsConflict(e.Err)
			switch {
			case e.Err == nil, conflict && !c.Gone:
				r := w.rows.of(l.Shard)
				now := l
				if conflict {
					now = c.Now
				}
				if r == nil {
					r = w.know(now)
					r.writtenAt, r.knownAt, r.confirmedAt = w.now, w.now, w.now
					if e.Err == nil && l.Checkpoint.Kind == leases.Latest {
						r.fresh = true
						w.after(5*time.Second, func() { r.fresh = false })
					}
				}
				done(nil)
				if w.tryOpen(r); w.leaving {
					w.letGo(r)
				}
			case insist():
				after, _ := pipeline.Retryable(e.Err)
				w.tellOnce("create "+l.Shard, slog.LevelWarn, "a lease cannot be made and is tried again", shardAttr(l.Shard), errAttr(e.Err))
				w.after(w.backoff(attempt, 2*time.Second, after), func() { w.gated(send) })
				attempt++
			default:
				done(e.Err)
			}
		}), l})
	}
	w.gated(send)
}

var (
	errNotWanted = errs.New("the lease is not wanted any more")
	errBeingMade = pipeline.Transient(errs.New("the lease is being made"))
)

// parentsDone tells whether every parent of a shard was read to its end: its lease
// says so, or it was removed, which is done only then.
func (w *Worker) parentsDone(r *row) bool {
	for _, id := range r.Parents {
		if p := w.rows.of(id); p != nil && !p.Ended() || w.broken[id] {
			return false
		}
	}
	return true
}

// active tells whether a lease is to be read by somebody now.
func (w *Worker) active(r *row) bool {
	return !r.Ended() && r.Stream != "" && w.parentsDone(r)
}

// free tells whether a lease may be taken: nobody has it, or whoever has it is gone.
func (w *Worker) free(r *row) bool {
	if !w.active(r) || r.busy {
		return false
	}
	switch {
	case r.Owner == "" && w.foreign:
		return false // another application is at work on this table
	case r.Owner == "":
		// Who asked for it has a moment to take it.
		return r.Wanted == "" || r.Wanted == w.o.Worker || !w.alive(r.Wanted) || w.leavingPeer(r.Wanted) || w.now-r.unchangedSince > 4*w.o.ReadEvery
	case w.mine(r):
		return false // opened when it is seen
	case w.peers[r.Owner] != nil:
		return !w.alive(r.Owner)
	case w.left[r.Owner]:
		return true
	}
	// No worker of ours: another application's, which moves its counter while it lives.
	return !w.foreign
}

// foreigners sees whether another application works on the table: it moves counters
// of leases whose owners this fleet does not know. Nothing is taken while it does.
func (w *Worker) foreigners() {
	w.foreign = false
	for _, r := range w.rows.all() {
		if r.Owner == "" || r.Ended() || w.mine(r) || w.peers[r.Owner] != nil || w.left[r.Owner] || w.now-r.unchangedSince > w.o.Takeover {
			continue
		}
		w.foreign = true
		w.tellOnce("foreign "+r.Owner, slog.LevelWarn,
			"leases belong to a worker that this application does not know: none is taken before they stand still; stop the other application",
			slog.String("owner", r.Owner), slog.Duration("after", w.o.Takeover))
	}
}

// adopt opens the leases that are this worker's by the table, and that it does not read.
func (w *Worker) adopt() {
	for _, r := range w.rows.all() {
		w.tryOpen(r)
	}
}

func (w *Worker) tryOpen(r *row) {
	if !w.known(r) || !w.mine(r) || r.assignment != nil || r.busy || r.calls > 0 || !w.active(r) || !w.heartbeatFresh() || w.suspended || w.leaving || r.knownAt < w.resumed {
		return
	}
	if r.confirmedAt >= w.resumed {
		w.open(r)
		return
	}
	// It was out of contact. Another worker may be taking the lease, on what it saw before the
	// contact came back: only a write that holds tells that it does not.
	next := r.Clone()
	next.Counter++
	w.swap(r, next, nil, func(err error) {
		if err != nil {
			w.refused(r, err) // where nobody knows, the next look tries again
			return
		}
		w.tryOpen(r)
	})
}

// lose gives up a partition whose lease is someone else's now.
func (w *Worker) lose(p *assignment) {
	w.tell(slog.LevelWarn, "lost a lease", shardAttr(p.row.Shard), slog.String("owner", p.row.Owner))
	w.revoke(p, ErrLeaseLost)
}

// revoke takes a partition from the pipeline.
func (w *Worker) revoke(p *assignment, cause error) {
	w.do(Revoke{p.name, cause})
	w.close(p)
}

func shardAttr(shard string) slog.Attr { return slog.String("shard", shard) }
