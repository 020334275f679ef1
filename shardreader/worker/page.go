package worker

import (
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// heldPage is an answer, and when its request was sent.
type heldPage struct {
	record.GetRecordsPage
	sent time.Duration
}

func (h *heldPage) records() int { return len(h.Page.Changes) + len(h.Page.Errors) }

// arrived takes in a whole answer.
func (w *Worker) arrived(p *assignment, a *heldPage) {
	if a.Page == nil {
		a.Page = &record.Page{}
	}
	p.iterator = a.NextIterator
	p.expect = max(leastPage, int64(a.Page.Bytes))
	if !w.inOrder(p, a.Page) {
		return
	}
	switch some := a.records() > 0; {
	case p.phase == probing && (some || a.Ended || p.empty.count >= eagerPages) && !w.probed(p, a.Page):
		return
	case p.phase == reading && some && w.startUnknown(p) && firstSequence(a.Page) != "":
		w.saveFirst(p, a)
		return
	case (p.phase == afterGap || p.phase == stoppedAtGap) && (some || a.Ended):
		if w.passedGap(p, a.Page); p.why != "" {
			return
		}
	}
	w.accept(p, a)
}

// accept delivers a page, and plans the next call.
func (w *Worker) accept(p *assignment, a *heldPage) {
	p.load.bytes += int64(a.Page.Bytes)
	p.advance(a.Page)
	records := a.records()
	p.passOver(a.Page)
	switch {
	case a.Ended:
		w.deliverLast(p, a.Page)
		return
	case records > 0:
		w.deliver(p, a.Page, false)
	default:
		p.empty.add(a.sent)
	}
	w.next(p, records)
}

// startUnknown reports whether the oldest record of an unread shard is unknown.
func (w *Worker) startUnknown(p *assignment) bool {
	return p.pos.Kind == leases.TrimHorizon && p.row.First == "" && p.row.From.IsZero()
}

// saveFirst makes durable where a shard begins. If the stream drops the first record before a checkpoint, the lease
// shows the gap.
func (w *Worker) saveFirst(p *assignment, a *heldPage) {
	r := p.row
	p.enter(confirming)
	w.addUntaken(p, int64(a.Page.Bytes)) // there may be one of each shard, while thousands of leases are made
	if r.busy {
		w.after(firstPause, func() { w.resume(p, a) })
		return
	}
	next := r.Clone()
	next.First = firstSequence(a.Page)
	w.write(&leaseWrite{why: saveFirst, row: r, next: next, p: p, page: a})
}

// resume continues with a held page.
func (w *Worker) resume(p *assignment, a *heldPage) {
	if !p.current() {
		return
	}
	w.addUntaken(p, -int64(a.Page.Bytes))
	if p.phase == confirming {
		p.enter(reading)
		w.arrived(p, a)
	}
}

// inOrder removes the records of a page that were read before. A record below the shard's start stops the shard:
// versions depend on the order of sequence numbers.
func (w *Worker) inOrder(p *assignment, page *record.Page) bool {
	first := firstSequence(page)
	switch {
	case first == "":
	case p.pos.Kind == leases.Sequence && record.CompareSequence(first, p.pos.Sequence) <= 0:
		dropKnown(page, p.pos.Sequence)
	case p.row.First != "" && record.CompareSequence(first, p.row.First) < 0:
		w.halt(p, StoppedContrary, slog.String("sequence", first), slog.String("start", p.row.First))
		return false
	}
	return true
}

// dropKnown leaves out the records up to a sequence number.
func dropKnown(page *record.Page, upTo string) {
	known := func(seq string) bool { return seq != "" && record.CompareSequence(seq, upTo) <= 0 }
	before := len(page.Changes) + len(page.Errors)
	page.Changes = slices.DeleteFunc(page.Changes, func(c record.Change) bool { return known(c.Sequence) })
	page.Errors = slices.DeleteFunc(page.Errors, func(e *record.RecordError) bool { return known(e.Sequence) })
	page.Duplicates += before - len(page.Changes) - len(page.Errors)
}

// passOver leaves out what was created before the time that reading starts at.
func (p *assignment) passOver(page *record.Page) {
	from := p.row.From
	if from.IsZero() || p.start.atLatest {
		return
	}
	from = from.Truncate(time.Second) // as precise as records are
	before := len(page.Changes)
	page.Changes = slices.DeleteFunc(page.Changes, func(c record.Change) bool {
		return !c.Time.IsZero() && c.Time.Before(from)
	})
	p.start.reached = p.start.reached || len(page.Changes) > 0 || before == 0
}

// advance moves the position after a page.
func (p *assignment) advance(page *record.Page) {
	if last := lastSequence(page); last != "" {
		p.pos = leases.After(last)
	}
	if t := lastTime(page); !t.IsZero() {
		p.time = second(t)
	}
}

// lastTime is the creation time of the newest record of a page that has one.
func lastTime(page *record.Page) (last time.Time) {
	for _, c := range slices.Backward(page.Changes) {
		if !c.Time.IsZero() {
			return c.Time
		}
	}
	return last
}

// deliverLast hands the last page of a shard to the pipeline, and looks for the shard's children.
func (w *Worker) deliverLast(p *assignment, page *record.Page) {
	p.enter(ended)
	w.deliver(p, page, true)
	// Children wait for this shard: its records should not wait for a batch to fill.
	w.do(Drain{p.name})
	p.search = &childSearch{assignment: p, since: w.now}
	p.search.begin(w)
}

// deliver hands a page to the pipeline.
func (w *Worker) deliver(p *assignment, decoded *record.Page, end bool) {
	g := &p.pages
	page := &pipeline.Page{Page: *decoded, Partition: p.name, End: end, Position: pipeline.Position(p.pos.String())}
	if p.pos == g.last { // of a page whose records have no sequence number
		g.repeated++
		page.Position += pipeline.Position("+" + strconv.Itoa(g.repeated))
	} else {
		g.last, g.repeated = p.pos, 0
	}
	if end {
		page.Position = endPosition
	}
	records := int64(len(page.Changes) + len(page.Errors))
	var oldest time.Time
	if len(page.Changes) > 0 {
		oldest = second(page.Changes[0].Time)
	}
	g.inFlight = append(g.inFlight, pageInFlight{page.Position, p.pos, p.time, oldest, records, end})
	g.sizes = append(g.sizes, int64(page.Bytes))
	g.records += records
	g.flushed = false
	if records > 0 {
		w.lastRecord = w.now
	}
	w.addUntaken(p, int64(page.Bytes))
	w.do(Deliver{page})
}

// firstSequence and lastSequence are the lowest and highest sequence numbers of a page's records, decoded or not; "" if
// none is known. They are copies: a text of a page keeps all of the page's bytes in memory.
func firstSequence(page *record.Page) string { return extreme(page, 0, -1) }

func lastSequence(page *record.Page) string { return extreme(page, len(page.Changes)-1, +1) }

// extreme is the lowest (-1) or highest (+1) sequence number of a change of a page, and of the records that are not
// decoded.
func extreme(page *record.Page, change, sign int) string {
	seq := ""
	see := func(s string) {
		if s != "" && (seq == "" || record.CompareSequence(s, seq)*sign > 0) {
			seq = s
		}
	}
	if len(page.Changes) > 0 {
		see(page.Changes[change].Sequence)
	}
	for _, e := range page.Errors {
		see(e.Sequence)
	}
	return strings.Clone(seq)
}
