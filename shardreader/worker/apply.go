package worker

import (
	"cmp"
	"log/slog"
	"slices"
	"time"
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

// follow begins a stream that follows one that was read. What was written between them, while the
// table had no stream, is in neither: that is a gap, durable before the stream has a lease. A lease
// that was made by hand says that the stream is to be read all the same.
func (w *Worker) follow(st *stream, p plan, done func(drained bool, err error)) {
	g := Gap{Stream: st.arn, UnknownExtent: true}
	for _, r := range w.rows.all() {
		if tableOf(r.Stream) == tableOf(st.arn) && !r.Time.IsZero() {
			g.From = max(g.From, r.Time.Unix())
		}
	}
	if enabled, err := time.Parse("2006-01-02T15:04:05.000", st.label); err == nil {
		g.To = enabled.Unix()
	}
	w.noteUnknown(g, "a stream follows one that was read: what was written to the table between them is in neither, and nobody knows what", func() {
		if w.o.OnGap == Continue {
			w.applyPlan(st, p, done)
			return
		}
		l := slices.Concat(p.create, p.unknown)
		for _, lease := range l {
			w.unbegun[lease.Shard] = unbegun{st.arn, StoppedBetween}
		}
		done(p.drained && len(l) == 0, nil) // one that was emptied meanwhile holds nothing back
	})
}

// applyPlan makes what is missing, and removes what is of no more use.
func (w *Worker) applyPlan(st *stream, p plan, done func(drained bool, err error)) {
	wanted := func() bool { return w.staying() && w.heartbeatFresh() }
	alone := len(w.live()) == 1
	for _, r := range p.remove {
		w.remove(r)
	}
	for _, s := range p.below {
		w.tellOnce("below "+s.ID, slog.LevelError, StoppedBelow, slog.String("stream", st.arn), slog.String("child", s.ID), slog.String("start", s.First))
		w.unbegun[s.ID] = unbegun{st.arn, StoppedBelow}
	}
	for _, s := range p.missing {
		w.noteUnknown(unknownIn(st, s.ID), "a shard has no lease, and its children were not begun: nobody knows whether it was read to its end", func() {})
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
			w.refreshLeases()
		}
		w.markBegun(st, func(err error) { done(p.drained, err) })
	}
	for _, l := range p.create {
		if alone && w.heartbeatFresh() {
			l.Owner = w.o.Worker
		}
		left++
		w.create(l, wanted, one)
	}
	for _, l := range p.unknown {
		left++
		w.noteUnknown(unknownIn(st, l.Shard), "a shard has no lease, and its parent is gone and was never read to its end: nobody knows whether records were lost", func() {
			if w.o.OnGap == Stop {
				w.unbegun[l.Shard] = unbegun{st.arn, StoppedUnbegun}
				one(nil)
				return
			}
			w.create(l, wanted, one)
		})
	}
	one(nil)
}

// unbegun is a shard that is not begun, and why: nobody knows what was lost before it, as a rule.
type unbegun struct{ stream, why string }

func unknownIn(st *stream, shard string) Gap {
	return Gap{Stream: st.arn, Shard: shard, UnknownExtent: true}
}

// noteUnknown notes, once, that nobody knows whether records of a shard were lost, or between two streams.
func (w *Worker) noteUnknown(g Gap, why string, then func()) {
	of := cmp.Or(g.Shard, g.Stream)
	if w.noted[of] {
		then()
		return
	}
	w.note(NoteGap{Gap: g}, w.staying, func() {
		w.noted[of] = true
		attrs := []slog.Attr{slog.String("stream", g.Stream)}
		if g.Shard != "" {
			attrs = append(attrs, shardAttr(g.Shard))
		}
		w.tell(slog.LevelError, why, attrs...)
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
