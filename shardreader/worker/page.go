package worker

import (
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// arrived takes in a whole answer.
func (w *Worker) arrived(p *assignment, a pipeline.Answer, sent time.Duration) {
	page := a.Page
	if page == nil {
		page = &pipeline.Page{}
	}
	p.iterator = a.NextIterator
	p.expect = max(leastPage, int64(page.Bytes))
	if n := len(page.Changes) + len(page.Errors); n > 0 && !w.inOrder(p, page) {
		return
	}
	records := len(page.Changes) + len(page.Errors)
	if p.undecided && (records > 0 || a.Ended || p.empties >= eagerPages) && !w.detectGap(p, page) {
		return
	}
	if records > 0 && p.gap == nil && p.pos.Kind == leases.TrimHorizon && p.row.First == "" && p.row.From.IsZero() && firstSequence(page) != "" {
		w.anchor(p, a, sent)
		return
	}
	if p.gap != nil && (records > 0 || a.Ended) {
		w.passedGap(p, page)
		if p.halted != "" {
			return
		}
	}
	p.bytes += int64(page.Bytes)
	p.advance(page)
	p.passOver(page)
	if a.Ended {
		w.deliver(p, page, true)
		w.reachedEnd(p)
		return
	}
	if records > 0 {
		w.deliver(p, page, false)
	}
	if records == 0 {
		p.emptyPage(sent)
	}
	w.next(p, records)
}

// anchor notes where a shard begins of which nobody knew the oldest record: should it
// be dropped before it is checkpointed, that is known to be a gap.
func (w *Worker) anchor(p *assignment, a pipeline.Answer, sent time.Duration) {
	r := p.row
	p.confirming = true
	w.hold(p, int64(a.Page.Bytes)) // there may be one of each shard, while thousands of leases are made
	again := func() {
		if p.current() {
			p.confirming = false
			w.hold(p, 0)
			if !p.draining {
				w.arrived(p, a, sent)
			}
		}
	}
	if r.busy {
		w.after(firstPause, again)
		return
	}
	next := r.Clone()
	next.First = firstSequence(a.Page)
	w.swap(r, next, func() bool { return p.current() && !p.draining }, func(err error) {
		if err != nil {
			w.refused(r, err)
			return
		}
		again()
	})
}

// inOrder holds a page against what was read before. A record that was read already
// is left out; one below the shard's start breaks what versions rest on.
func (w *Worker) inOrder(p *assignment, page *pipeline.Page) bool {
	first := firstSequence(page)
	switch {
	case first == "":
	case p.pos.Kind == leases.Sequence && pipeline.CompareSequence(first, p.pos.Sequence) <= 0:
		w.dropKnown(p, page)
	case p.row.First != "" && pipeline.CompareSequence(first, p.row.First) < 0:
		w.halt(p, StoppedContrary,
			slog.String("sequence", first), slog.String("start", p.row.First))
		return false
	}
	return true
}

func (w *Worker) dropKnown(p *assignment, page *pipeline.Page) {
	known := func(seq string) bool {
		return seq != "" && pipeline.CompareSequence(seq, p.pos.Sequence) <= 0
	}
	before := len(page.Changes) + len(page.Errors)
	page.Changes = slices.DeleteFunc(page.Changes, func(c pipeline.Change) bool { return known(c.Sequence) })
	page.Errors = slices.DeleteFunc(page.Errors, func(e *pipeline.RecordError) bool { return known(e.Sequence) })
	page.Duplicates += before - len(page.Changes) - len(page.Errors)
}

// passOver leaves out what was created before the time that reading starts at.
func (p *assignment) passOver(page *pipeline.Page) {
	from := p.row.From
	if from.IsZero() || p.atLatest {
		return
	}
	from = from.Truncate(time.Second) // as precise as records are
	before := len(page.Changes)
	page.Changes = slices.DeleteFunc(page.Changes, func(c pipeline.Change) bool {
		return !c.Time.IsZero() && c.Time.Before(from)
	})
	p.started = p.started || len(page.Changes) > 0 || before == 0
}

// advance moves reading behind a page.
func (p *assignment) advance(page *pipeline.Page) {
	if last := lastSequence(page); last != "" {
		p.pos = leases.After(last)
	}
	for i := len(page.Changes) - 1; i >= 0; i-- {
		if t := page.Changes[i].Time; !t.IsZero() {
			p.time = t.Unix()
			break
		}
	}
}

// deliver hands a page to the pipeline.
func (w *Worker) deliver(p *assignment, page *pipeline.Page, end bool) {
	page.Partition = p.name
	page.End = end
	page.Position = pipeline.Position(p.pos.String())
	if p.pos == p.lastPos { // of a page whose records have no sequence number
		p.repeated++
		page.Position += pipeline.Position("+" + strconv.Itoa(p.repeated))
	} else {
		p.lastPos, p.repeated = p.pos, 0
	}
	if end {
		page.Position = endPosition
		p.ended = true
	}
	records := int64(len(page.Changes) + len(page.Errors))
	oldest := int64(0)
	if len(page.Changes) > 0 && !page.Changes[0].Time.IsZero() {
		oldest = page.Changes[0].Time.Unix()
	}
	p.inFlight = append(p.inFlight, pageInFlight{page.Position, p.pos, p.time, oldest, records, end})
	p.sizes = append(p.sizes, int64(page.Bytes))
	p.pending += records
	p.flushed = false
	if records > 0 {
		w.lastRecord = w.now
	}
	w.addUntaken(p, int64(page.Bytes))
	w.do(Deliver{page})
}

// firstSequence and lastSequence are those of a page's records, decoded or not; "" where
// none is known. They are copies: a text of a page keeps all of its bytes in memory, and
// what is noted here of a page outlives it.
func firstSequence(page *pipeline.Page) string {
	var first string
	see := func(seq string) {
		if seq != "" && (first == "" || pipeline.CompareSequence(seq, first) < 0) {
			first = seq
		}
	}
	if len(page.Changes) > 0 {
		see(page.Changes[0].Sequence)
	}
	for _, e := range page.Errors {
		see(e.Sequence)
	}
	return strings.Clone(first)
}

func lastSequence(page *pipeline.Page) string {
	var last string
	see := func(seq string) {
		if seq != "" && (last == "" || pipeline.CompareSequence(seq, last) > 0) {
			last = seq
		}
	}
	if n := len(page.Changes); n > 0 {
		see(page.Changes[n-1].Sequence)
	}
	for _, e := range page.Errors {
		see(e.Sequence)
	}
	return strings.Clone(last)
}
