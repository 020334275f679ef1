package worker

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/shardreader"
)

// source is a table, or one stream, that is read.
type source struct {
	Source
	streams []*stream // the oldest first

	finding bool           // a listing of the streams is in flight
	later   []streamFinder // they wait for the next listing
}

// stream is one stream of a source. A table has several streams while a disabled one can still be read.
type stream struct {
	arn, label string
	begun      bool // a consumer made the leases that its reading starts with
	gone       bool // it is no longer listed
}

func newSource(s Source) *source {
	src := &source{Source: s}
	if s.Stream != "" {
		src.streams = []*stream{newStream(s.Stream)}
	}
	return src
}

func newStream(arn string) *stream {
	return &stream{arn: arn, label: shardreader.StreamOf(arn).Label}
}

// streamFinder requests the streams of a source.
type streamFinder interface {
	streamsFound(w *Worker, err error)
}

// streamSearch lists the streams of a table.
type streamSearch struct {
	source *source
	by     streamFinder
	after  string // the page that is requested
	listed map[string]bool
	tries  tries
}

// findStreams lists the streams of a source, beginning after this call.
func (w *Worker) findStreams(s *source, by streamFinder) {
	switch {
	case s.Stream != "":
		by.streamsFound(w, nil)
	case s.finding:
		s.later = append(s.later, by)
	default:
		s.finding = true
		op := &streamSearch{source: s, by: by, listed: make(map[string]bool), tries: firstTry}
		op.send(w)
	}
}

func (op *streamSearch) send(w *Worker) {
	w.do(ListStreams{w.begin(op), op.source.Table, op.after})
}

func (op *streamSearch) answered(w *Worker, e Listed) {
	err := e.Err
	if err == nil && e.Page.After != "" && e.Page.After == op.after {
		err = errs.New("ListStreams names the same page twice")
	}
	switch {
	case err != nil && transient(err) && op.tries < firstTry+listTries:
		w.after(op.tries.next(w, maxRetry, err), func() { op.send(w) })
		return
	case err != nil:
		op.finish(w, err)
		return
	}
	for _, ref := range e.Page.Streams {
		if ref.Table == op.source.Table {
			op.listed[ref.ARN] = true
			op.source.add(ref)
		}
	}
	if op.after = e.Page.After; op.after != "" {
		op.send(w)
		return
	}
	op.finish(w, op.complete(w))
}

// complete compares the streams of the source with the complete list.
func (op *streamSearch) complete(w *Worker) error {
	s := op.source
	for _, st := range s.streams {
		st.gone = !op.listed[st.arn]
	}
	// A stream that is no longer listed may still have leases.
	for _, r := range w.rows.all() {
		if r.Stream != "" && w.belongs(r, s) && !op.listed[r.Stream] {
			s.add(shardreader.StreamRef{ARN: r.Stream}).gone = true
		}
	}
	if len(s.streams) > 0 {
		return nil
	}
	return &shardreader.Error{
		Op: "ListStreams", Subject: "of table " + s.Table, Kind: shardreader.ErrNotFound,
		Hint: "check name, Region and account, and that the table has a stream",
	}
}

func (op *streamSearch) finish(w *Worker, err error) {
	s := op.source
	later := s.later
	s.finding, s.later = false, nil
	for _, by := range later {
		w.findStreams(s, by)
	}
	op.by.streamsFound(w, err)
}

// add adds a stream, if it is new.
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

// belongs reports whether a lease belongs to a source.
func (w *Worker) belongs(r *row, s *source) bool {
	switch {
	case r.Stream == "":
		return len(w.sources) == 1
	case s.Stream != "":
		return r.Stream == s.Stream
	}
	return shardreader.StreamOf(r.Stream).Table == s.Table
}

// isBegun reports whether a stream was begun: a note says so, or it has leases.
func (w *Worker) isBegun(st *stream) bool {
	return st.begun || w.begunStreams[st.arn] || w.rows.any(func(r *row) bool { return r.Stream == st.arn })
}

// firstRead returns the first stream of a source that is read: the oldest that was begun, else the newest.
func (w *Worker) firstRead(s *source) int {
	if i := slices.IndexFunc(s.streams, w.isBegun); i >= 0 {
		return i
	}
	return len(s.streams) - 1
}

// follows reports whether a stream of the table was read before the i-th. Neither has the changes between the two.
func (w *Worker) follows(s *source, i int) bool {
	if slices.ContainsFunc(s.streams[:i], w.isBegun) {
		return true
	}
	for arn := range w.begunStreams { // also a stream that is no longer listed and has no leases any more
		if s.Table != "" && shardreader.StreamOf(arn).Table == s.Table && compareStreams(newStream(arn), s.streams[i]) < 0 {
			return true
		}
	}
	return false
}

// isReadOut reports whether all leases of a stream are read to their ends.
func (w *Worker) isReadOut(st *stream) bool {
	return !w.rows.any(func(r *row) bool { return r.Stream == st.arn && !r.Ended() })
}

// hasStrange reports whether there are leases that name no stream: another application made them.
func (w *Worker) hasStrange(s *source) bool {
	return w.rows.any(func(r *row) bool { return r.Stream == "" && !r.Ended() && w.belongs(r, s) })
}
