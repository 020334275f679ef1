package coordinator

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

	searching bool              // a listing of the streams is in flight
	waiting   []func(err error) // called after the next listing
}

// stream is one stream of a source. A table has several streams while a disabled one can still be read.
type stream struct {
	arn, label string
	begun      bool // the lease table says that a consumer created the first leases of the stream
	unlisted   bool // the stream is no longer listed
}

func newSource(s Source) *source {
	src := &source{Source: s}
	if s.Stream != "" {
		src.streams = []*stream{newStream(s.Stream)}
	}
	return src
}

func newStream(arn string) *stream {
	return &stream{arn: arn, label: shardreader.StreamFromARN(arn).Label}
}

// streamSearch lists the streams of a table.
type streamSearch struct {
	c      *Coordinator
	source *source
	done   func(err error)
	after  string // start of the requested page; "" for the first page
	listed map[string]bool
	tries  tries
}

// findStreams lists the streams of a source, and calls done. The listing begins after this call. If a listing is in
// flight, done waits for the next listing.
func (c *Coordinator) findStreams(s *source, done func(err error)) {
	switch {
	case s.Stream != "":
		done(nil)
	case s.searching:
		s.waiting = append(s.waiting, done)
	default:
		s.searching = true
		op := &streamSearch{c: c, source: s, done: done, listed: make(map[string]bool), tries: initialTries}
		op.send()
	}
}

// send requests the next page of the list.
func (op *streamSearch) send() {
	op.c.emit(ListStreams{newCall(op.c, op.handleResult), op.source.Table, op.after})
}

// handleResult adds the streams of a page, and requests the next page.
func (op *streamSearch) handleResult(e ListStreamsResult) {
	if e.Err == nil && e.Page.After != "" && e.Page.After == op.after {
		e.Err = errs.New("ListStreams names the same page twice")
	}
	mayRetry := transient(e.Err) && op.tries < initialTries+listRetries
	if mayRetry {
		op.c.after(op.tries.nextBackoff(op.c, maxBackoff, e.Err), op.send)
		return
	}
	if e.Err != nil {
		op.end(e.Err)
		return
	}
	for _, ref := range e.Page.Streams {
		if ref.Table == op.source.Table {
			op.listed[ref.ARN] = true
			op.source.add(ref)
		}
	}
	op.after = e.Page.After
	if op.after != "" {
		op.send()
		return
	}
	op.end(op.updateStreams())
}

// updateStreams updates the streams of the source from the complete list. It fails if the source has no streams.
func (op *streamSearch) updateStreams() error {
	s := op.source
	for _, st := range s.streams {
		st.unlisted = !op.listed[st.arn]
	}
	// A stream that is no longer listed may still have leases.
	for _, r := range op.c.table.rows.all() {
		if r.Stream != "" && op.c.belongs(r, s) && !op.listed[r.Stream] {
			s.add(shardreader.StreamRef{ARN: r.Stream}).unlisted = true
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

// end gives the result to the caller of findStreams. Callers that came during this search share the next one, because
// this one may have passed a stream that they know of.
func (op *streamSearch) end(err error) {
	s := op.source
	latecomers := s.waiting
	s.searching, s.waiting = false, nil
	for _, done := range latecomers {
		op.c.findStreams(s, done)
	}
	op.done(err)
}

// add adds a stream, if it is new. It returns the stream of that ARN.
func (s *source) add(ref shardreader.StreamRef) *stream {
	if i := slices.IndexFunc(s.streams, func(st *stream) bool { return st.arn == ref.ARN }); i >= 0 {
		return s.streams[i]
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

// belongs reports whether a lease belongs to a source. A lease that names no stream belongs to the only source.
func (c *Coordinator) belongs(r *row, s *source) bool {
	switch {
	case r.Stream == "":
		return len(c.sources) == 1
	case s.Stream != "":
		return r.Stream == s.Stream
	}
	return shardreader.StreamFromARN(r.Stream).Table == s.Table
}

// isBegun reports whether a stream was begun: the lease table says so, or the stream has leases.
func (c *Coordinator) isBegun(st *stream) bool {
	return st.begun || c.table.begunStreams[st.arn] || c.table.rows.any(func(r *row) bool { return r.Stream == st.arn })
}

// firstBegun returns the index of the first stream of a source that is read. This is the oldest stream that was begun,
// or the newest stream if no stream was begun.
func (c *Coordinator) firstBegun(s *source) int {
	if i := slices.IndexFunc(s.streams, c.isBegun); i >= 0 {
		return i
	}
	return len(s.streams) - 1
}

// wasOlderBegun reports whether an older stream of the same table than the stream at index was begun. Then the stream
// has a gap before it: the changes between the end of one stream and the start of the next are in neither.
func (c *Coordinator) wasOlderBegun(s *source, index int) bool {
	if slices.ContainsFunc(s.streams[:index], c.isBegun) {
		return true
	}
	for arn := range c.table.begunStreams { // also a stream that is no longer listed and has no leases any more
		isOfTable := s.Table != "" && shardreader.StreamFromARN(arn).Table == s.Table
		if isOfTable && compareStreams(newStream(arn), s.streams[index]) < 0 {
			return true
		}
	}
	return false
}

// allRead reports whether all leases of a stream have ended.
func (c *Coordinator) allRead(st *stream) bool {
	return !c.table.rows.any(func(r *row) bool { return r.Stream == st.arn && !r.Ended() })
}

// hasForeignLeases reports whether a source has unended leases that name no stream. Another application created such
// leases.
func (c *Coordinator) hasForeignLeases(s *source) bool {
	return c.table.rows.any(func(r *row) bool { return r.Stream == "" && !r.Ended() && c.belongs(r, s) })
}
