package worker

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// source is a table, or a stream, that is followed.
type source struct {
	Source
	streams []*stream // the oldest first

	finding bool          // they are being listed
	later   []func(error) // who wants that done once more
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

// syncSource finds the streams of a source, then goes through them.
func (w *Worker) syncSource(s *source, done func(error)) {
	w.findStreams(s, func(err error) {
		if err != nil {
			done(err)
			return
		}
		w.resume(s, done)
	})
}

// findStreams lists the streams of a source, beginning after this call.
func (w *Worker) findStreams(s *source, done func(error)) {
	switch {
	case s.Stream != "":
		done(nil)
	case s.finding:
		s.later = append(s.later, done)
	default:
		s.finding = true
		w.listStreams(s, func(err error) {
			s.finding = false
			later := s.later
			s.later = nil
			for _, then := range later {
				w.findStreams(s, then)
			}
			done(err)
		})
	}
}

func (w *Worker) listStreams(s *source, done func(error)) {
	listed := make(map[string]bool)
	tries := 0
	var page func(after string)
	page = func(after string) {
		w.do(ListStreams{on(w, func(e Listed) {
			if e.Err == nil && e.Page.After != "" && e.Page.After == after {
				e.Err = errs.New("ListStreams names the same page twice")
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
			for _, r := range w.rows.all() {
				if r.Stream != "" && w.belongs(r, s) && !listed[r.Stream] {
					s.add(shardreader.StreamRef{ARN: r.Stream}).gone = true
				}
			}
			if len(s.streams) == 0 {
				done(&shardreader.Error{Op: "ListStreams", Subject: "of table " + s.Table, Kind: shardreader.ErrNotFound,
					Hint: "check name, Region and account, and that the table has a stream"})
				return
			}
			done(nil)
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
	slices.SortFunc(s.streams, compareStreams)
	return st
}

// compareStreams orders the streams of a table by their age, the oldest first.
func compareStreams(a, b *stream) int {
	return cmp.Or(strings.Compare(a.label, b.label), strings.Compare(a.arn, b.arn))
}

// resume goes on with a source whose streams are known. Which of them were begun is
// read before their leases are: a stream that was begun has leases, or had them.
func (w *Worker) resume(s *source, done func(error)) {
	w.afterRefresh(func() {
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
		if w.follows(s, i) {
			start = Start{following: true}
		}
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

// follows reports whether a stream of the table was read before the i-th. What was written
// between the two is in neither.
func (w *Worker) follows(s *source, i int) bool {
	for _, st := range s.streams[:i] {
		if st.begun || w.hasLeases(st.arn) {
			return true
		}
	}
	for arn := range w.begunStreams { // also one that is listed no more, and whose leases are gone
		if s.Table != "" && tableOf(arn) == s.Table && compareStreams(newStream(arn), s.streams[i]) < 0 {
			return true
		}
	}
	return false
}

// hasLeases tells whether a stream has leases.
func (w *Worker) hasLeases(arn string) bool {
	for _, r := range w.rows.all() {
		if r.Stream == arn {
			return true
		}
	}
	return false
}

// unassigned tells whether there are leases of which nobody said whose stream they are
// of: another application made them.
func (w *Worker) unassigned(s *source) bool {
	for _, r := range w.rows.all() {
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
			w.afterRefresh(func() {
				p := w.planOf(st.arn, l, !st.begun, start)
				if start.following && !st.begun && !w.begunStreams[st.arn] && !w.hasLeases(st.arn) {
					w.follow(st, p, done)
					return
				}
				w.applyPlan(st, p, done)
			})
		}
	})
}

func (w *Worker) staying() bool { return !w.leaving && !w.stopped }

// readOut tells whether no lease of a stream is left to be read.
func (w *Worker) readOut(st *stream) bool {
	for _, r := range w.rows.all() {
		if r.Stream == st.arn && !r.Ended() {
			return false
		}
	}
	return true
}
