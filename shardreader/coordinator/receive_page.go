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

// receive handles a complete page. It accepts the page, first writes what must be durable before the page, or stops the
// shard.
func (c *Coordinator) receive(a *assignment, page *receivedPage) {
	if page.Page == nil {
		page.Page = &record.Page{}
	}
	a.iterator = page.NextIterator
	a.expectedBytes = max(minExpectedBytes, int64(page.Page.Bytes))

	first := firstSequence(page.Page)
	switch {
	case a.wasRead(first):
		page.Page.Duplicates += page.Page.DropSequences(a.wasRead)
	case a.isBelowStart(first):
		c.stopShard(a, StoppedSequenceBelowStart, slog.String("sequence", first), slog.String("start", a.row.First))
		return
	}

	switch a.phase {
	case reading:
		c.receiveReading(a, page)
	case probing:
		c.receiveProbing(a, page)
	case afterGap, stoppedAtGap:
		c.receiveAfterGap(a, page)
	}
}

// wasRead reports whether the record with a sequence number was read before. The sequence number may be "".
func (a *assignment) wasRead(sequence string) bool {
	return sequence != "" && a.position.Kind == leases.Sequence &&
		record.CompareSequence(sequence, a.position.Sequence) <= 0
}

// isBelowStart reports whether a sequence number is below the shard's start. Versions depend on the order of sequence
// numbers, so such a record must not be read. The sequence number may be "".
func (a *assignment) isBelowStart(sequence string) bool {
	return sequence != "" && a.row.First != "" && record.CompareSequence(sequence, a.row.First) < 0
}

// receiveReading handles a page in the phase reading.
func (c *Coordinator) receiveReading(a *assignment, page *receivedPage) {
	if a.startUnknown() {
		if first := firstSequence(page.Page); first != "" {
			c.saveFirst(a, page, first)
			return
		}
	}
	c.accept(a, page)
}

// receiveProbing handles a page in the phase probing. It compares the oldest record left with the time at which reading
// starts. If the record is older, no requested record is lost. If the record is not older, or no record is left,
// records are lost.
func (c *Coordinator) receiveProbing(a *assignment, page *receivedPage) {
	isConclusive := page.Page.Len() > 0 || page.Ended || a.emptyPages.count >= inconclusiveEmptyPages
	changes := page.Page.Changes
	switch {
	case !isConclusive:
		c.accept(a, page)
	case len(changes) > 0 && changes[0].Time.Before(a.row.From):
		a.enter(reading)
		c.accept(a, page)
	default:
		a.iterator = ""
		c.noteLost(a, *a.gap)
	}
}

// receiveAfterGap handles a page in the phases afterGap and stoppedAtGap. The first record, or the end of the shard,
// ends the search for the end of the gap. A stopped shard delivers no record.
func (c *Coordinator) receiveAfterGap(a *assignment, page *receivedPage) {
	completesGap := page.Page.Len() > 0 || page.Ended
	if !completesGap {
		c.accept(a, page)
		return
	}
	c.completeGap(a, page.Page)
	if a.stopReason == "" {
		c.accept(a, page)
	}
}

// accept moves the position of an assignment past a page, delivers the page, and plans the next call.
func (c *Coordinator) accept(a *assignment, page *receivedPage) {
	a.load.bytes += int64(page.Page.Bytes)
	a.advance(page.Page)
	isEmpty := page.Page.Len() == 0 // dropped records show that the shard had records
	a.dropTooOld(page.Page)

	switch {
	case page.Ended:
		c.deliverLast(a, page.Page)
	case isEmpty:
		c.pollAfterEmptyPage(a, page.sent)
	default:
		c.deliver(a, page.Page, a.newPosition())
		c.pollAfterRecords(a)
	}
}

// startUnknown reports whether no record of a shard was read, and its oldest record is unknown.
func (a *assignment) startUnknown() bool {
	return a.position.Kind == leases.TrimHorizon && a.row.First == "" && a.row.From.IsZero()
}

// saveFirst writes the sequence number of the first record of a shard into its lease, and then continues with the page
// of the record. If the stream drops this record before a checkpoint, the lease shows the gap.
func (c *Coordinator) saveFirst(a *assignment, page *receivedPage, first string) {
	r := a.row
	a.enter(suspended)
	// The page counts against Options.Prefetch: while thousands of leases are created, each shard may have a page that
	// waits for its write.
	c.addUntaken(a, int64(page.Page.Bytes))

	if r.busy {
		c.after(firstPause, func() { c.resumePage(a, page) })
		return
	}
	next := r.Clone()
	next.First = first
	c.writeLease(&leaseWrite{row: r, next: next, mustRetry: a.keepsLease, written: func() { c.resumePage(a, page) }})
}

// resumePage continues with a page that waited for saveFirst.
func (c *Coordinator) resumePage(a *assignment, page *receivedPage) {
	if !a.isOpen() {
		return
	}
	c.addUntaken(a, -int64(page.Page.Bytes))
	if a.phase == suspended {
		a.enter(reading)
		c.receive(a, page)
	}
}

// dropTooOld removes the records that were created before Lease.From, the time at which reading starts.
func (a *assignment) dropTooOld(page *record.Page) {
	if a.row.From.IsZero() || a.start.atLatest {
		return
	}
	startSecond := a.row.From.Truncate(time.Second) // record times have this precision
	page.Changes = slices.DeleteFunc(page.Changes, func(change record.Change) bool {
		return !change.Time.IsZero() && change.Time.Before(startSecond)
	})
	if len(page.Changes) > 0 {
		a.start.reached = true
	}
}

// advance moves the position to the last record of a page.
func (a *assignment) advance(page *record.Page) {
	if sequence := lastSequence(page); sequence != "" {
		a.position = leases.After(sequence)
	}
	if created := lastTime(page); !created.IsZero() {
		a.positionTime = second(created)
	}
}

// lastTime returns the creation time of the newest record of a page, or zero if it is unknown.
func lastTime(page *record.Page) time.Time {
	for _, change := range slices.Backward(page.Changes) {
		if !change.Time.IsZero() {
			return change.Time
		}
	}
	return time.Time{}
}

// deliverLast delivers the last page of a shard, and begins the search for the shard's children.
func (c *Coordinator) deliverLast(a *assignment, page *record.Page) {
	a.enter(ended)
	c.deliver(a, page, endPosition)
	// The children wait for the end of this shard, so its last records must not wait for a full batch.
	c.emit(Drain{a.name})
	a.childSearch = &childSearch{assignment: a, c: c, began: c.now}
	a.childSearch.begin()
}

// newPosition returns a position for the next page to deliver. It differs from the positions of all earlier pages. If
// the records of a page have no sequence number, the result has the sequence number of the previous page and a suffix.
func (a *assignment) newPosition() pipeline.Position {
	p := &a.inFlight
	position := pipeline.Position(a.position.String())
	if a.position != p.lastPosition {
		p.lastPosition, p.repeatCount = a.position, 0
		return position
	}
	p.repeatCount++
	return position + pipeline.Position("+"+strconv.Itoa(p.repeatCount))
}

// deliver delivers a page to the pipeline.
func (c *Coordinator) deliver(a *assignment, decoded *record.Page, position pipeline.Position) {
	isLast := position == endPosition
	page := &pipeline.Page{Page: *decoded, Partition: a.name, End: isLast, Position: position}
	recordCount := int64(page.Len())
	if recordCount > 0 {
		c.lastRecordAt = c.now
	}
	var oldestTime time.Time
	if len(page.Changes) > 0 {
		oldestTime = second(page.Changes[0].Time)
	}

	p := &a.inFlight
	p.pages = append(p.pages, pageInFlight{
		position: position, checkpoint: a.position, newestTime: a.positionTime, oldestTime: oldestTime,
		recordCount: recordCount, isLast: isLast,
	})
	p.untakenSizes = append(p.untakenSizes, int64(page.Bytes))
	p.recordCount += recordCount
	p.drainSent = false
	c.addUntaken(a, int64(page.Bytes))
	c.emit(Deliver{page})
}

// firstSequence returns the sequence number of the first change of a page, or a lower one of a record that cannot be
// decoded; "" if none is known. Unlike [record.Page.FirstSequence], it compares records that cannot be decoded by their
// sequence numbers and not by their places in the page: one below the start of the shard must stop the shard, wherever
// it is. The string is a copy, because a string of a page keeps the whole page in memory.
func firstSequence(page *record.Page) string {
	lowest := ""
	if len(page.Changes) > 0 {
		lowest = page.Changes[0].Sequence
	}
	for _, e := range page.Errors {
		isLower := e.Sequence != "" && record.CompareSequence(e.Sequence, lowest) < 0
		if lowest == "" || isLower {
			lowest = e.Sequence
		}
	}
	return strings.Clone(lowest)
}

// lastSequence returns the sequence number of the last change of a page, or a higher one of a record that cannot be
// decoded, like firstSequence.
func lastSequence(page *record.Page) string {
	highest := ""
	if n := len(page.Changes); n > 0 {
		highest = page.Changes[n-1].Sequence
	}
	for _, e := range page.Errors {
		isHigher := e.Sequence != "" && record.CompareSequence(e.Sequence, highest) > 0
		if highest == "" || isHigher {
			highest = e.Sequence
		}
	}
	return strings.Clone(highest)
}
