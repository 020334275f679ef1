package coordinator

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

// receivedPage is a page of GetRecords with the time at which its request was sent.
type receivedPage struct {
	record.GetRecordsPage
	sent time.Duration
}

func (p *receivedPage) records() int { return len(p.Page.Changes) + len(p.Page.Errors) }

// receive handles a complete page.
func (c *Coordinator) receive(a *assignment, page *receivedPage) {
	if page.Page == nil {
		page.Page = &record.Page{}
	}
	a.iterator = page.NextIterator
	a.expectedBytes = max(minExpectedBytes, int64(page.Page.Bytes))
	if !c.checkOrder(a, page.Page) {
		return
	}
	switch hasRecords := page.records() > 0; {
	case a.phase == probing && (hasRecords || page.Ended || a.emptyPages.count >= minEmptyPages) &&
		!c.endProbe(a, page.Page):
		return
	case a.phase == reading && hasRecords && c.startUnknown(a) && firstSequence(page.Page) != "":
		c.saveFirst(a, page)
		return
	case (a.phase == afterGap || a.phase == stoppedAtGap) && (hasRecords || page.Ended):
		if c.completeGap(a, page.Page); a.stopReason != "" {
			return
		}
	}
	c.accept(a, page)
}

// accept delivers a page, and plans the next call.
func (c *Coordinator) accept(a *assignment, page *receivedPage) {
	a.load.bytes += int64(page.Page.Bytes)
	a.advance(page.Page)
	records := page.records()
	a.dropTooOld(page.Page)
	switch {
	case page.Ended:
		c.deliverLast(a, page.Page)
		return
	case records > 0:
		c.deliver(a, page.Page, false)
	default:
		a.emptyPages.add(page.sent)
	}
	c.scheduleNextCall(a, records)
}

// startUnknown reports whether no record of a shard was read, and its oldest record is unknown.
func (c *Coordinator) startUnknown(a *assignment) bool {
	return a.pos.Kind == leases.TrimHorizon && a.row.First == "" && a.row.From.IsZero()
}

// saveFirst writes the sequence number of the first record of a shard into its lease. If the stream drops this record
// before a checkpoint, the lease shows the gap.
func (c *Coordinator) saveFirst(a *assignment, page *receivedPage) {
	r := a.row
	a.enter(confirming)
	// The page counts against Options.Prefetch: while thousands of leases are created, each shard may have a page that
	// waits for its write.
	c.addUntaken(a, int64(page.Page.Bytes))
	if r.busy {
		c.after(firstPause, func() { c.resumePage(a, page) })
		return
	}
	next := r.Clone()
	next.First = firstSequence(page.Page)
	c.writeLease(&leaseWrite{reason: saveFirst, row: r, next: next, assignment: a, page: page})
}

// resumePage continues with a page that waited for saveFirst.
func (c *Coordinator) resumePage(a *assignment, page *receivedPage) {
	if !a.isOpen() {
		return
	}
	c.addUntaken(a, -int64(page.Page.Bytes))
	if a.phase == confirming {
		a.enter(reading)
		c.receive(a, page)
	}
}

// checkOrder removes the records of a page that were read before. If a record is below the shard's start, checkOrder
// stops the shard and returns false, because versions depend on the order of sequence numbers.
func (c *Coordinator) checkOrder(a *assignment, page *record.Page) bool {
	first := firstSequence(page)
	switch {
	case first == "":
	case a.pos.Kind == leases.Sequence && record.CompareSequence(first, a.pos.Sequence) <= 0:
		dropKnown(page, a.pos.Sequence)
	case a.row.First != "" && record.CompareSequence(first, a.row.First) < 0:
		c.stopShard(a, StoppedContrary, slog.String("sequence", first), slog.String("start", a.row.First))
		return false
	}
	return true
}

// dropKnown removes the records up to the sequence number upTo, which were read before.
func dropKnown(page *record.Page, upTo string) {
	known := func(seq string) bool { return seq != "" && record.CompareSequence(seq, upTo) <= 0 }
	before := len(page.Changes) + len(page.Errors)
	page.Changes = slices.DeleteFunc(page.Changes, func(change record.Change) bool { return known(change.Sequence) })
	page.Errors = slices.DeleteFunc(page.Errors, func(e *record.RecordError) bool { return known(e.Sequence) })
	page.Duplicates += before - len(page.Changes) - len(page.Errors)
}

// dropTooOld removes the records that were created before Lease.From, where reading starts.
func (a *assignment) dropTooOld(page *record.Page) {
	from := a.row.From
	if from.IsZero() || a.start.atLatest {
		return
	}
	from = from.Truncate(time.Second) // record times have this precision
	page.Changes = slices.DeleteFunc(page.Changes, func(change record.Change) bool {
		return !change.Time.IsZero() && change.Time.Before(from)
	})
	a.start.reached = a.start.reached || len(page.Changes) > 0
}

// advance moves the position to the end of a page.
func (a *assignment) advance(page *record.Page) {
	if last := lastSequence(page); last != "" {
		a.pos = leases.After(last)
	}
	if t := lastTime(page); !t.IsZero() {
		a.posTime = second(t)
	}
}

// lastTime returns the creation time of the newest record of a page, or zero if it is unknown.
func lastTime(page *record.Page) (last time.Time) {
	for _, change := range slices.Backward(page.Changes) {
		if !change.Time.IsZero() {
			return change.Time
		}
	}
	return last
}

// deliverLast delivers the last page of a shard, and begins the search for the shard's children.
func (c *Coordinator) deliverLast(a *assignment, page *record.Page) {
	a.enter(ended)
	c.deliver(a, page, true)
	// The children wait for the end of this shard, so its last records must not wait for a full batch.
	c.emit(Drain{a.name})
	a.search = &childSearch{assignment: a, began: c.now}
	a.search.begin(c)
}

// deliver delivers a page to the pipeline.
func (c *Coordinator) deliver(a *assignment, decoded *record.Page, end bool) {
	p := &a.pages
	page := &pipeline.Page{Page: *decoded, Partition: a.name, End: end, Position: pipeline.Position(a.pos.String())}
	if a.pos == p.lastPos { // the records of the page have no sequence number
		p.repeated++
		page.Position += pipeline.Position("+" + strconv.Itoa(p.repeated))
	} else {
		p.lastPos, p.repeated = a.pos, 0
	}
	if end {
		page.Position = endPosition
	}
	records := int64(len(page.Changes) + len(page.Errors))
	var oldest time.Time
	if len(page.Changes) > 0 {
		oldest = second(page.Changes[0].Time)
	}
	p.inFlight = append(p.inFlight, pageInFlight{
		pos: page.Position, checkpoint: a.pos, newest: a.posTime, oldest: oldest, records: records, end: end,
	})
	p.untakenSizes = append(p.untakenSizes, int64(page.Bytes))
	p.records += records
	p.flushed = false
	if records > 0 {
		c.lastRecord = c.now
	}
	c.addUntaken(a, int64(page.Bytes))
	c.emit(Deliver{page})
}

// firstSequence and lastSequence return the lowest and the highest sequence number of a page's records, decoded or not.
// They return "" if none is known. The strings are copies, because a string of a page keeps the whole page in memory.
func firstSequence(page *record.Page) string { return extremeSequence(page, 0, -1) }

func lastSequence(page *record.Page) string { return extremeSequence(page, len(page.Changes)-1, +1) }

// extremeSequence returns the lowest (sign -1) or highest (sign +1) sequence number of a page. It compares the change
// at index and the records that are not decoded.
func extremeSequence(page *record.Page, index, sign int) string {
	seq := ""
	consider := func(s string) {
		if s != "" && (seq == "" || record.CompareSequence(s, seq)*sign > 0) {
			seq = s
		}
	}
	if len(page.Changes) > 0 {
		consider(page.Changes[index].Sequence)
	}
	for _, e := range page.Errors {
		consider(e.Sequence)
	}
	return strings.Clone(seq)
}
