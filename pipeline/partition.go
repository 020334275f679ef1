package pipeline

import (
	"context"
	"time"
)

// partition is what the run knows of one partition. Pipeline.mu guards it.
type partition struct {
	name  string
	state partitionState
	ended bool // its source brings nothing more of it: it is dropped once nothing of it is in flight

	lettersCtx    context.Context // of the dead letters of its undecodable records; done: it is revoked hard, or the run stops hard
	cancelLetters context.CancelCauseFunc

	unfinished  int             // pages read and not finished
	waiting     []*inflightPage // prepared, in order, behind one whose letters are not durable
	watermark   Watermark
	toCommit    Position // to commit
	uncommitted bool     // pos is not committed
	committing  bool     // a committer is at work
}

// partitionState is how far the pages of a partition still go. A partition is open until Drain, an error of its
// pages, RevokeSoft or Revoke moves it down this list; it never moves up.
//
//	state        pages that come     deliveries in flight            commits
//	open         go to the sinks     wait for batches to fill        yes
//	draining     go to the sinks     are due: nothing waits to fill  yes
//	broken       finish undelivered  as before; due after any Drain  up to the page that broke
//	revokedSoft  finish undelivered  queued: Revoked; Writes end     no
//	revokedHard  finish undelivered  queued: Revoked; Writes are     no
//	                                 cancelled
//
// An error of Decode also ends reading of all partitions (sourceFailed). Without dead letters, and with a source that does
// not track single records, undecodable records leave the state as it is: their page and the later ones wait until the
// partition is revoked or the run ends.
type partitionState uint8

const (
	open        partitionState = iota
	draining                   // Control.Drain
	broken                     // Decode failed, or records that cannot be decoded return to the source
	revokedSoft                // Control.RevokeSoft
	revokedHard                // Control.Revoke
)

func (s partitionState) revoked() bool { return s >= revokedSoft }

// enter moves the partition to a state, unless it is there or beyond; it reports whether it moved.
func (part *partition) enter(s partitionState) bool {
	if s <= part.state {
		return false
	}
	part.state = s
	return true
}

// partition returns the partition of that name.
func (r *run) partition(name string) *partition {
	part := r.partitions[name]
	if part == nil {
		part = &partition{name: name}
		part.lettersCtx, part.cancelLetters = context.WithCancelCause(r.hard)
		r.partitions[name] = part
	}
	return part
}

// handOver gives the ready pages of a partition to the schedulers, in order.
func (r *run) handOver(part *partition, now time.Time) {
	for len(part.waiting) > 0 && (part.waiting[0].ready || part.state.revoked()) {
		in := part.waiting[0]
		part.waiting[0] = nil
		part.waiting = part.waiting[1:]
		r.notHandedOver--
		if in.nacked {
			part.enter(broken)
		}
		if part.state >= broken {
			r.releasePage(in)
			r.endPage(in)
		} else {
			r.deliverPage(in, now)
		}
		in.page, in.result = nil, nil
	}
}

// deliverPage adds a page to the ledgers and hands its deliveries to the schedulers.
func (r *run) deliverPage(in *inflightPage, now time.Time) {
	part, prep := in.partition, in.result
	r.p.countPage(prep)
	in.arenas = make([]*planArena, len(prep.routes))
	for i := range prep.routes {
		in.deliveries += len(prep.routes[i].deliveries)
		in.arenas[i] = prep.routes[i].arena
	}
	in.unfinished, in.pins = in.deliveries, in.deliveries
	if in.tracker != nil {
		in.tracker.begin(prep)
	}
	for i, s := range r.schedulers {
		s.accept(&prep.routes[i], now, part.state == draining)
	}
	pending := in.deliveries
	if in.err != nil {
		pending++ // the page's position is after the broken record, so it is never committed
		part.enter(broken)
		r.sourceFailed(in.err)
	}
	if in.tracker != nil {
		pending++ // the source answers for each record, so its page is never committed
	}
	mark, ok := part.watermark.Begin(in.page.Position, pending)
	in.watermarkID = mark
	part.ended = part.ended || in.page.End
	if ok {
		r.setWatermark(part, in.page.Position)
	}
	if in.deliveries == 0 {
		r.releasePage(in)
		r.endPage(in)
	}
}

// unpin notes that n deliveries do not hold the memory of their page any more.
func (r *run) unpin(in *inflightPage, n int) {
	if in.pins -= n; in.pins == 0 {
		r.releasePage(in)
	}
}

// releasePage frees the memory of a page.
func (r *run) releasePage(in *inflightPage) {
	r.bounds.release(in.partition.name, amount{in.bytes, in.changes})
	if in.arenas != nil {
		r.effects.freedPages = append(r.effects.freedPages, in)
	}
}

// checkEnd ends the waiting of batches once all pages are handed over, and closes allFinished once all are.
func (r *run) checkEnd() {
	if !r.eof || r.notHandedOver > 0 {
		return
	}
	r.noFilling = true
	if r.unfinished == 0 && !r.allDone {
		r.allDone = true
		close(r.allFinished)
	}
}

// forget drops a partition that has ended and is finished. One that was revoked holds no share of the bounds before
// that.
func (r *run) forget(part *partition) {
	if part.state.revoked() {
		r.bounds.forget(part.name)
	}
	if part.ended && part.unfinished == 0 && part.watermark.Open() == 0 && !part.uncommitted && !part.committing && r.partitions[part.name] == part {
		part.cancelLetters(nil)
		delete(r.partitions, part.name)
		r.bounds.forget(part.name)
	}
}
