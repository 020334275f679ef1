package pipeline

import (
	"context"
	"time"
)

// partition is the state of one partition in a run. Pipeline.mu guards it.
type partition struct {
	name  string
	state partitionState
	ended bool // the source has no more pages of it

	lettersCtx    context.Context // context of Puts of undecodable records; a hard revoke or a hard stop cancels it
	cancelLetters context.CancelCauseFunc

	unfinished int // number of pages that were read and are not finished
	// waiting has prepared pages in order. The first page waits until its dead letters are durable.
	waiting     []*inflightPage
	watermark   Watermark
	toCommit    Position // the newest watermark
	uncommitted bool     // toCommit is not committed
	committing  bool     // the committer runs
}

// partitionState decides what happens to the pages of a partition. Drain, an error of a page, RevokeSoft and Revoke
// move an open partition down this list. A partition never moves up.
//
//	state        later pages         deliveries in flight            commits
//	open         go to the sinks     wait for batches to fill        yes
//	draining     go to the sinks     are due: nothing waits to fill  yes
//	broken       finish undelivered  as before; a Drain makes them   up to the page that broke
//	                                 due
//	revokedSoft  finish undelivered  queued: Revoked; Writes finish  no
//	revokedHard  finish undelivered  queued: Revoked; Writes are     no
//	                                 cancelled
//
// An error of Decode also ends the reading of all partitions (sourceFailed). Without dead letters, and without a
// Tracker, undecodable records do not change the state: their page and the later pages wait until the partition is
// revoked or the run ends.
type partitionState uint8

const (
	open        partitionState = iota
	draining                   // Control.Drain
	broken                     // Decode failed, or undecodable records return to the source
	revokedSoft                // Control.RevokeSoft
	revokedHard                // Control.Revoke
)

func (s partitionState) isRevoked() bool { return s >= revokedSoft }

// enter moves the partition to state s, and reports whether it moved. It does not move to an earlier state of the list.
func (part *partition) enter(s partitionState) bool {
	if s <= part.state {
		return false
	}
	part.state = s
	return true
}

// partition returns the partition with a name. It adds a new one if the run has none.
func (r *run) partition(name string) *partition {
	part := r.partitions[name]
	if part == nil {
		part = &partition{name: name}
		part.lettersCtx, part.cancelLetters = context.WithCancelCause(r.hardCtx)
		r.partitions[name] = part
	}
	return part
}

// handOver gives the ready pages of a partition to the schedulers, in order. Pages of a broken or revoked partition
// finish undelivered.
func (r *run) handOver(part *partition, now time.Time) {
	for len(part.waiting) > 0 {
		page := part.waiting[0]
		if !page.ready && !part.state.isRevoked() {
			return // its dead letters are not durable yet
		}
		part.waiting[0] = nil
		part.waiting = part.waiting[1:]
		r.notHandedOver--

		if page.nacked {
			part.enter(broken)
		}
		if part.state >= broken {
			r.releasePage(page)
			r.endPage(page)
		} else {
			r.deliverPage(page, now)
		}
		page.content, page.result = nil, nil
	}
}

// deliverPage adds a page to the ledgers, and gives its deliveries to the schedulers.
func (r *run) deliverPage(page *inflightPage, now time.Time) {
	part, result := page.partition, page.result
	r.p.countPage(result)
	page.addDeliveries(result)
	if page.tracker != nil {
		page.tracker.begin(result)
	}
	for i, s := range r.schedulers {
		s.enqueue(&result.routes[i], now)
	}

	if page.err != nil {
		part.enter(broken)
		r.sourceFailed(page.err)
	}
	part.ended = part.ended || page.content.End
	r.addToWatermark(page)
	if page.deliveries == 0 {
		r.releasePage(page)
		r.endPage(page)
	}
}

// addDeliveries counts the deliveries of a prepared page, and keeps their arenas.
func (page *inflightPage) addDeliveries(result *preparedPage) {
	page.arenas = make([]*planArena, len(result.routes))
	for i := range result.routes {
		page.deliveries += len(result.routes[i].deliveries)
		page.arenas[i] = result.routes[i].arena
	}
	page.unfinished, page.pins = page.deliveries, page.deliveries
}

// addToWatermark adds a page to the watermark of its partition. The watermark never passes a page whose Decode failed,
// because its position is after the broken record. Nor does it pass a page whose source acknowledges single records.
func (r *run) addToWatermark(page *inflightPage) {
	pending := page.deliveries
	if page.err != nil || page.tracker != nil {
		pending++ // an extra one, which never finishes
	}
	id, moved := page.partition.watermark.Begin(page.content.Position, pending)
	page.watermarkID = id
	if moved {
		r.setWatermark(page.partition, page.content.Position)
	}
}

// unpin notes that n deliveries do not need the memory of their page any more. After the last of them, the page is
// released.
func (r *run) unpin(page *inflightPage, n int) {
	page.pins -= n
	if page.pins == 0 {
		r.releasePage(page)
	}
}

// releasePage subtracts a page from the memory in flight, and has its arenas (memory of plans) returned to their pools.
func (r *run) releasePage(page *inflightPage) {
	r.memory.release(page.partition.name, page.used)
	if page.arenas == nil {
		return
	}
	r.addEffect(func() {
		for i, arena := range page.arenas {
			if arena != nil {
				r.p.routes[i].arenas.put(arena)
			}
		}
		page.arenas = nil
	})
}

// checkEnd ends the wait for full batches once all pages are handed over. It closes allFinished once all pages are
// finished.
func (r *run) checkEnd() {
	if !r.eof || r.notHandedOver > 0 {
		return
	}
	r.noFilling = true
	if r.unfinished > 0 {
		return
	}
	select {
	case <-r.allFinished: // closed by an earlier step
	default:
		close(r.allFinished)
	}
}

// dropFinished drops the state of a partition that has ended, once all its pages are finished and committed. A revoked
// partition loses its share of the memory earlier, as soon as it uses no memory.
func (r *run) dropFinished(part *partition) {
	if part.state.isRevoked() {
		r.memory.dropUnused(part.name)
	}
	isDropped := r.partitions[part.name] != part
	if isDropped || !part.ended || !part.isFinished() || !part.isCommitted() {
		return
	}
	part.cancelLetters(nil)
	delete(r.partitions, part.name)
	r.memory.dropUnused(part.name)
}

// isFinished reports whether all pages of the partition that were read are finished.
func (part *partition) isFinished() bool {
	return part.unfinished == 0 && part.watermark.Unfinished() == 0
}

// isCommitted reports whether the newest watermark is committed, and no Commit is in flight.
func (part *partition) isCommitted() bool { return !part.uncommitted && !part.committing }
