package worker

import (
	"cmp"
	"log/slog"
)

// markBegun makes durable that the leases that a stream's reading starts with are there.
// One may be missing because its maker crashed before that, and nothing is lost then.
func (w *Worker) markBegun(st *stream, done func(error)) {
	if st.begun {
		done(nil)
		return
	}
	w.do(Begin{on(w, func(e Done) {
		st.begun = st.begun || e.Err == nil
		done(e.Err)
	}), st.arn})
}

// applyPlan makes what is missing, and removes what is of no more use.
func (w *Worker) applyPlan(st *stream, p plan, done func(drained bool, err error)) {
	wanted := func() bool { return w.staying() && w.contact() }
	alone := len(w.live()) == 1
	for _, r := range p.remove {
		w.remove(r)
	}
	for _, s := range p.below {
		w.tellOnce("below "+s.ID, slog.LevelError, StoppedBelow, slog.String("stream", st.arn), slog.String("child", s.ID), slog.String("start", s.First))
	}
	for _, s := range p.missing {
		w.noteUnknown(st, s.ID, "a shard has no lease, and its children were not begun: nobody knows whether it was read to its end", func() {})
	}
	left := 1
	var failed error
	one := func(err error) {
		failed = cmp.Or(failed, err)
		if left--; left > 0 {
			return
		}
		if failed != nil {
			done(false, failed)
			return
		}
		if len(p.create) > 0 {
			w.look()
		}
		w.markBegun(st, func(err error) { done(p.drained, err) })
	}
	for _, l := range p.create {
		if alone && w.contact() {
			l.Owner = w.o.Worker
		}
		left++
		w.create(l, wanted, one)
	}
	for _, l := range p.unknown {
		left++
		w.noteUnknown(st, l.Shard, "a shard has no lease, and its parent is gone and was never read to its end: nobody knows whether records were lost", func() {
			if w.o.OnGap == Stop {
				w.unbegun[l.Shard] = true
				one(nil)
				return
			}
			w.create(l, wanted, one)
		})
	}
	one(nil)
}

// noteUnknown notes, once, that nobody knows whether records of a shard were lost.
func (w *Worker) noteUnknown(st *stream, shard, why string, then func()) {
	if w.noted[shard] {
		then()
		return
	}
	w.note(Gap{Stream: st.arn, Shard: shard, UnknownExtent: true}, w.staying, func() {
		w.noted[shard] = true
		w.tell(slog.LevelError, why, slog.String("stream", st.arn), shardAttr(shard))
		then()
	})
}

// remove deletes a lease that is of no more use.
func (w *Worker) remove(r *row) {
	w.rows.writing(r)
	w.gated(func() { w.sendDelete(r) })
}

func (w *Worker) sendDelete(r *row) {
	w.do(Delete{on(w, func(e Done) {
		w.passed()
		w.rows.written(r, w.now)
		if !w.known(r) {
			return
		}
		if e.Err == nil {
			w.forget(r)
			return
		}
		w.refused(r, e.Err)
	}), r.Lease})
}
