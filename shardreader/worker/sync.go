package worker

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// source is a table, or a stream, that is followed.
type source struct {
	Source
	streams []*stream // the oldest first
}

// stream is one stream of a source. A table has several while one that was disabled
// can still be read.
type stream struct {
	arn, label string
	begun      bool // the leases that its reading starts with were made, by whomever
	gone       bool // it is listed no more
}

func newSource(s Source) *source {
	src := &source{Source: s}
	if s.Stream != "" {
		src.streams = []*stream{newStream(s.Stream)}
	}
	return src
}

func newStream(arn string) *stream {
	_, label, _ := strings.Cut(arn, "/stream/")
	return &stream{arn: arn, label: label}
}

// followEvery is the time between two looks for the stream that replaces one that
// was read to its end.
const followEvery = 15 * time.Second

// syncSoon lists the streams before it is time for that, if this worker is the one to do it.
func (w *Worker) syncSoon() { w.syncIn(time.Second) }

func (w *Worker) syncIn(d time.Duration) {
	w.syncNo++
	no := w.syncNo
	w.after(w.jitter(d), func() {
		if w.syncNo == no {
			w.sync()
		}
	})
}

// sync holds the leases against the streams, one source after the other.
func (w *Worker) sync() {
	if w.syncing || w.leaving {
		return
	}
	if !w.leads() {
		w.synced = false // the next time that it leads, at once
		return
	}
	w.syncing, w.synced = true, true
	next := w.o.SyncEvery
	var one func(i int)
	one = func(i int) {
		if i == len(w.sources) {
			w.syncing = false
			w.syncIn(next)
			return
		}
		w.syncSource(w.sources[i], func(err error) {
			if err != nil {
				w.tellOnce("sync", slog.LevelWarn, "a stream cannot be listed and is tried again", errAttr(err))
				after, _ := pipeline.Retryable(err)
				next = min(next, max(2*time.Second, after))
			} else {
				delete(w.told, "sync")
			}
			if w.idle(w.sources[i]) {
				next = min(next, followEvery)
			}
			one(i + 1)
		})
	}
	one(0)
}

// idle tells whether nothing of a source is left to be read.
func (w *Worker) idle(s *source) bool {
	for _, r := range w.order {
		if !r.Ended() && w.belongs(r, s) {
			return false
		}
	}
	return true
}

// belongs tells whether a lease is of a source.
func (w *Worker) belongs(r *row, s *source) bool {
	if r.Stream == "" {
		return len(w.sources) == 1
	}
	if s.Stream != "" {
		return r.Stream == s.Stream
	}
	_, rest, _ := strings.Cut(r.Stream, ":table/")
	table, _, _ := strings.Cut(rest, "/stream/")
	return table == s.Table
}

// syncSource finds the streams of a source, then goes through them.
func (w *Worker) syncSource(s *source, done func(error)) {
	if s.Stream != "" {
		w.resume(s, done)
		return
	}
	listed := make(map[string]bool)
	tries := 0
	var page func(after string)
	page = func(after string) {
		w.do(ListStreams{on(w, func(e Listed) {
			if e.Err == nil && e.Page.After != "" && e.Page.After == after {
				e.Err = errors.New("ListStreams names the same page twice")
			}
			if server, again := pipeline.Retryable(e.Err); e.Err != nil && again && tries < listTries {
				tries++
				w.after(w.backoff(tries, maxRetry, server), func() { page(after) })
				return
			}
			if e.Err != nil {
				done(e.Err)
				return
			}
			for _, ref := range e.Page.Streams {
				if ref.Table == s.Table {
					listed[ref.ARN] = true
					s.add(ref)
				}
			}
			if e.Page.After != "" {
				page(e.Page.After)
				return
			}
			for _, st := range s.streams {
				st.gone = !listed[st.arn]
			}
			// A stream that is listed no more may still have leases.
			for _, r := range w.order {
				if r.Stream != "" && w.belongs(r, s) && !listed[r.Stream] {
					s.add(shardreader.StreamRef{ARN: r.Stream}).gone = true
				}
			}
			if len(s.streams) == 0 {
				done(&shardreader.Error{Op: "ListStreams", Subject: "of table " + s.Table, Kind: shardreader.ErrNotFound,
					Hint: "check name, Region and account, and that the table has a stream"})
				return
			}
			w.resume(s, done)
		}), s.Table, after})
	}
	page("")
}

// add knows a stream from now on.
func (s *source) add(ref shardreader.StreamRef) *stream {
	for _, st := range s.streams {
		if st.arn == ref.ARN {
			return st
		}
	}
	st := newStream(ref.ARN)
	st.label = cmp.Or(ref.Label, st.label)
	s.streams = append(s.streams, st)
	slices.SortFunc(s.streams, func(a, b *stream) int {
		return cmp.Or(strings.Compare(a.label, b.label), strings.Compare(a.arn, b.arn))
	})
	return st
}

// resume goes on with a source whose streams are known. Which of them were begun is
// read before their leases are: a stream that was begun has leases, or had them.
func (w *Worker) resume(s *source, done func(error)) {
	w.afterLook(func() {
		for _, st := range s.streams {
			st.begun = w.begunStreams[st.arn]
		}
		w.assign(s, 0, done)
	})
}

// chain goes through the streams of a source from the first that is read. A stream is
// begun when the one before it was read to its end: so the changes of an item keep
// their order over a stream that was switched off and on.
func (w *Worker) chain(s *source, done func(error)) {
	first, start := len(s.streams)-1, w.o.Start
	for i, st := range s.streams {
		if st.begun || w.hasLeases(st.arn) {
			if first = i; st.begun {
				start = Start{}
			}
			break
		}
	}
	var one func(i int, start Start)
	one = func(i int, start Start) {
		if i == len(s.streams) {
			done(nil)
			return
		}
		start.following = i > 0 && s.streams[i-1].begun
		w.syncStream(s.streams[i], start, func(drained bool, err error) {
			if err != nil || !drained {
				done(err)
				return
			}
			one(i+1, Start{})
		})
	}
	one(first, start)
}

// hasLeases tells whether a stream has leases.
func (w *Worker) hasLeases(arn string) bool {
	for _, r := range w.order {
		if r.Stream == arn {
			return true
		}
	}
	return false
}

// unassigned tells whether there are leases of which nobody said whose stream they are
// of: another application made them.
func (w *Worker) unassigned(s *source) bool {
	for _, r := range w.order {
		if r.Stream == "" && !r.Ended() && w.belongs(r, s) {
			return true
		}
	}
	return false
}

// syncStream holds the leases of one stream against its listing.
func (w *Worker) syncStream(st *stream, start Start, done func(drained bool, err error)) {
	if st.gone {
		done(w.readOut(st), nil)
		return
	}
	w.list(st.arn, w.staying, func(l *listing, err error) {
		switch {
		case errors.Is(err, shardreader.ErrNotFound):
			st.gone = true
			done(w.readOut(st), nil)
		case err != nil:
			done(false, err)
		default:
			// Leases as they are now, not as they were before the listing: what others made since
			// must not be missed.
			w.afterLook(func() { w.applyPlan(st, w.planOf(st.arn, l, !st.begun, start), done) })
		}
	})
}

func (w *Worker) staying() bool { return !w.leaving && !w.stopped }

// readOut tells whether no lease of a stream is left to be read.
func (w *Worker) readOut(st *stream) bool {
	for _, r := range w.order {
		if r.Stream == st.arn && !r.Ended() {
			return false
		}
	}
	return true
}

// assign says in the leases of another application which stream they are of: that
// which lists their shard, and the newest for a shard that none lists. Then it goes
// through the streams.
func (w *Worker) assign(s *source, i int, done func(error)) {
	if i == len(s.streams) || !w.unassigned(s) {
		w.chain(s, done)
		return
	}
	st := s.streams[i]
	listed := func(l *listing) {
		var rows []*row
		for _, r := range w.order {
			if r.Stream == "" && w.belongs(r, s) && !r.busy && (l != nil && l.has(r.Shard) || i == len(s.streams)-1 && !r.Ended()) {
				rows = append(rows, r)
			}
		}
		w.assignTo(st, rows, func(err error) {
			if err != nil {
				done(err)
				return
			}
			w.assign(s, i+1, done)
		})
	}
	if st.gone {
		listed(nil)
		return
	}
	w.list(st.arn, w.staying, func(l *listing, err error) {
		if err != nil && !errors.Is(err, shardreader.ErrNotFound) {
			done(err)
			return
		}
		listed(l)
	})
}

// assignTo writes the stream of leases, once it is durable that the stream was begun.
func (w *Worker) assignTo(st *stream, rows []*row, done func(error)) {
	if len(rows) == 0 {
		done(nil)
		return
	}
	w.markBegun(st, func(err error) {
		left := len(rows)
		if err != nil {
			done(err)
			return
		}
		for _, r := range rows {
			next := r.Clone()
			next.Stream = st.arn
			w.swap(r, next, nil, func(e error) {
				w.refused(r, e)
				err = cmp.Or(err, e)
				if left--; left == 0 {
					done(err)
				}
			})
		}
	})
}

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
		w.tellOnce("below "+s.ID, slog.LevelError, belowParent, slog.String("stream", st.arn), slog.String("child", s.ID), slog.String("start", s.First))
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
		g := Gap{Stream: st.arn, Shard: l.Shard, UnknownExtent: true}
		left++
		w.note(g, w.staying, func() {
			w.tellOnce("unknown "+l.Shard, slog.LevelError,
				"a shard has no lease, and its parent is gone and was never read to its end: nobody knows whether records were lost",
				slog.String("stream", st.arn), shardAttr(l.Shard))
			if w.o.OnGap == Stop {
				one(nil)
				return
			}
			w.create(l, wanted, one)
		})
	}
	one(nil)
}

// remove deletes a lease that is of no more use.
func (w *Worker) remove(r *row) {
	r.busy = true
	w.gated(func() { w.sendDelete(r) })
}

func (w *Worker) sendDelete(r *row) {
	w.do(Delete{on(w, func(e Done) {
		w.passed()
		r.busy, r.wrote = false, w.now
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
