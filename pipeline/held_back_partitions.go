package pipeline

import (
	"cmp"
	"slices"
	"time"
)

// The reasons why a partition is held back.
const (
	HeldByShare   = "share"   // the partition uses its share of the memory, and is paused
	HeldByMemory  = "bounds"  // the memory is full, and nothing is read
	HeldByBackoff = "backoff" // some of its changes failed and are tried again
	HeldByFilling = "filling" // some of its changes wait for a batch or an object to fill
	// some of its changes wait for a Write, or a Put of dead letters, that has lasted for half a minute
	HeldByWriting = "writing"
)

// HeldBack is a reason why a partition is not read, or why its checkpoint does not move. A partition can have several:
// if the keys of a sink back off, the partition can also use up its share.
type HeldBack struct {
	Partition string

	// Sink is the sink that the partition waits for. For HeldByShare and HeldByMemory it is the sink with most of the
	// partition's deliveries. It is "" if the partition waits for dead letters to be stored: with HeldByBackoff those of
	// records that cannot be decoded, with HeldByWriting any.
	Sink   string
	Reason string // one of the constants HeldBy...

	// Since is when the reason began. For HeldByFilling the oldest change began to wait then. For HeldByWriting the
	// Write or Put began then. The other reasons begin when a check first sees them; while a page is in flight, the run
	// checks once a second. HeldByBackoff begins again when another page becomes the oldest unfinished page of the
	// partition.
	Since time.Time
	Bytes int64 // memory that the partition has in flight
}

// HeldBack returns the current reasons, the oldest first. It returns nil if there is no reason, or if the pipeline does
// not run. It is safe for concurrent use. Its cost grows with the number of queued pages.
func (p *Pipeline) HeldBack() []HeldBack {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return nil
	}
	return p.run.heldBack(time.Now())
}

// heldKey identifies a reason across calls of heldBack. For HeldByShare and HeldByMemory, sink and reason are "": while
// a partition waits, it can change between these two reasons, and between sinks.
type heldKey struct{ partition, sink, reason string }

// heldSpan has the times when a reason began and when it was last seen. oldestPage is the id of the page that was the
// partition's oldest unfinished page when the reason began.
type heldSpan struct {
	since, lastSeen time.Time
	oldestPage      uint64
}

// heldBackGrace is how long a reason can be absent without beginning again. Short absences are normal: with a slow
// sink, a page is read now and then.
const heldBackGrace = 3 * heldBackInterval

// heldBackScan is one call of heldBack.
type heldBackScan struct {
	run        *run
	now        time.Time
	schedulers []schedulerWaits // of each scheduler
	found      []HeldBack
	reasons    map[heldKey]heldSpan
}

// heldBack is [Pipeline.HeldBack]. Pipeline.mu is held.
func (r *run) heldBack(now time.Time) []HeldBack {
	waits := make([]schedulerWaits, len(r.schedulers))
	for i, s := range r.schedulers {
		waits[i] = s.countWaits(now)
	}
	scan := heldBackScan{run: r, now: now, schedulers: waits, reasons: make(map[heldKey]heldSpan)}
	for _, part := range r.partitions {
		share := r.memory.shares[part.name]
		if share != nil && !part.state.isRevoked() { // a page of it was read
			scan.addPartition(part, share)
		}
	}
	scan.keepRecent(r.heldSince)
	r.heldSince = scan.reasons
	slices.SortFunc(scan.found, func(a, b HeldBack) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Sink, b.Sink),
			cmp.Compare(a.Reason, b.Reason))
	})
	return scan.found
}

// keepRecent adds the reasons of earlier scans that were seen lately.
func (h *heldBackScan) keepRecent(earlier map[heldKey]heldSpan) {
	for key, span := range earlier {
		_, isSeen := h.reasons[key]
		if !isSeen && h.now.Sub(span.lastSeen) <= heldBackGrace {
			h.reasons[key] = span
		}
	}
}

// addPartition adds the reasons of one partition.
func (h *heldBackScan) addPartition(part *partition, share *share) {
	isMemoryFull := h.run.memory.waiting && h.run.memory.isFull()
	switch {
	case share.paused:
		h.add(part, h.mainSink(part), HeldByShare, h.firstSeen(part, heldKey{partition: part.name}))
	case isMemoryFull && share.used.bytes > 0:
		h.add(part, h.mainSink(part), HeldByMemory, h.firstSeen(part, heldKey{partition: part.name}))
	}
	if len(part.waiting) > 0 && !part.waiting[0].ready {
		h.addBackoff(part, "")
	}
	var letters time.Time
	for i, w := range h.schedulers {
		waits := w.byPartition[part]
		if waits == nil {
			continue
		}
		h.addSink(part, h.run.schedulers[i].route.Name, waits)
		letters = earlierOf(letters, waits.letters)
	}
	if lastsLong(letters, h.now) {
		h.add(part, "", HeldByWriting, letters)
	}
}

// addSink adds the reasons why a partition waits for a sink.
func (h *heldBackScan) addSink(part *partition, sink string, waits *partitionWaits) {
	if waits.backoff {
		h.addBackoff(part, sink)
	}
	if !waits.filling.IsZero() {
		h.add(part, sink, HeldByFilling, waits.filling)
	}
	if lastsLong(waits.writing, h.now) {
		h.add(part, sink, HeldByWriting, waits.writing)
	}
}

func (h *heldBackScan) addBackoff(part *partition, sink string) {
	h.add(part, sink, HeldByBackoff, h.firstSeen(part, heldKey{part.name, sink, HeldByBackoff}))
}

func (h *heldBackScan) add(part *partition, sink, reason string, since time.Time) {
	bytes := h.run.memory.shares[part.name].used.bytes
	h.found = append(h.found, HeldBack{part.name, sink, reason, since, bytes})
}

// firstSeen notes that a reason is seen now, and returns when it was first seen. HeldByBackoff begins again when
// another page becomes the oldest unfinished page of the partition.
func (h *heldBackScan) firstSeen(part *partition, key heldKey) time.Time {
	span, isKnown := h.run.heldSince[key]
	oldestPage := part.watermark.oldestUnfinished()
	beginsAgain := key.reason == HeldByBackoff && span.oldestPage != oldestPage
	if !isKnown || beginsAgain {
		span = heldSpan{since: h.now, oldestPage: oldestPage}
	}
	span.lastSeen = h.now
	h.reasons[key] = span
	return span.since
}

// lastsLong reports whether a call that began at began has lasted for heldBackLogAfter. It returns false if began is
// zero.
func lastsLong(began, now time.Time) bool {
	return !began.IsZero() && now.Sub(began) >= heldBackLogAfter
}

// mainSink returns the name of the sink that has the most deliveries of a partition. If no sink has a delivery of the
// partition, mainSink returns the sink that has the most deliveries of all partitions.
func (h *heldBackScan) mainSink(part *partition) string {
	ofPartition := func(w schedulerWaits) int64 {
		if waits := w.byPartition[part]; waits != nil {
			return waits.deliveries
		}
		return 0
	}
	ofAll := func(w schedulerWaits) int64 { return w.pending }
	return cmp.Or(h.sinkWithMost(ofPartition), h.sinkWithMost(ofAll))
}

// sinkWithMost returns the name of the sink with the highest count. It returns "" if all counts are 0.
func (h *heldBackScan) sinkWithMost(count func(schedulerWaits) int64) (sink string) {
	var most int64
	for i, w := range h.schedulers {
		if n := count(w); n > most {
			sink, most = h.run.schedulers[i].route.Name, n
		}
	}
	return sink
}

// schedulerWaits has the waiting deliveries of one sink, by partition.
type schedulerWaits struct {
	byPartition map[*partition]*partitionWaits
	pending     int64 // number of unfinished deliveries, of all partitions
}

// partitionWaits describes the deliveries of one partition that wait for one sink.
type partitionWaits struct {
	deliveries int64     // number of deliveries
	backoff    bool      // some deliveries failed, and are tried again
	filling    time.Time // since when the oldest delivery waits for its batch to fill; zero: no delivery waits
	writing    time.Time // start of the oldest Write that a delivery waits for; zero: no delivery waits
	letters    time.Time // start of a Put of dead letters that has not failed; zero: there is no such Put
}

// countWaits counts the waiting deliveries of the scheduler.
func (s *scheduler) countWaits(now time.Time) schedulerWaits {
	waits := schedulerWaits{make(map[*partition]*partitionWaits), s.route.ledger.Pending}
	if s.run.closed {
		return waits
	}
	busySince := s.busySince()
	isFilling := s.isFilling(now)
	for i := range s.ready.chunks {
		c := &s.ready.chunks[i]
		added := partitionWaits{deliveries: int64(c.count)}
		if isFilling {
			added.filling = c.addedAt
		} else {
			added.writing = busySince
		}
		waits.add(c.page.partition, added)
	}
	for i := range s.keptPacked {
		waits.add(s.keptPacked[i].page.partition, partitionWaits{deliveries: int64(s.keptPacked[i].count)})
	}
	s.countLanes(&waits, busySince)
	for _, b := range s.writing {
		b.countWaits(&waits)
	}
	s.countDeadLetters(&waits)
	return waits
}

// countWaits counts the deliveries of a batch that is being written.
func (b *batch) countWaits(waits *schedulerWaits) {
	for _, delivery := range b.deliveries {
		isRetry := delivery.lane.attempt > 0
		waits.add(delivery.page.partition, partitionWaits{deliveries: 1, backoff: isRetry, writing: b.formedAt})
	}
	for i := range b.chunks {
		added := partitionWaits{deliveries: int64(b.chunks[i].count), writing: b.formedAt}
		waits.add(b.chunks[i].page.partition, added)
	}
}

// countLanes counts the deliveries that wait in lanes.
func (s *scheduler) countLanes(waits *schedulerWaits, busySince time.Time) {
	for lane := range s.lanes.all() {
		added := partitionWaits{deliveries: 1, backoff: lane.attempt > 0 || s.waitsLong(lane)}
		switch lane.state {
		case writing:
			added.writing = lane.batch.formedAt
		case queued:
			added.writing = busySince
		}
		for delivery := range lane.queue.all() {
			waits.add(delivery.page.partition, added)
		}
	}
}

// countDeadLetters counts the failed deliveries that are not stored as dead letters yet.
func (s *scheduler) countDeadLetters(waits *schedulerWaits) {
	q := &s.deadLetters
	added := partitionWaits{deliveries: 1, backoff: q.failing}
	if !q.failing && q.putting != nil {
		added.letters = q.putSince
	}
	for _, deliveries := range [][]*queuedDelivery{q.putting, q.deliveries} {
		for _, delivery := range deliveries {
			waits.add(delivery.page.partition, added)
		}
	}
}

// busySince returns when the Write began that took the last free place of Concurrency: since then no Write can start.
// It returns zero if a Write can start.
func (s *scheduler) busySince() (since time.Time) {
	if len(s.writing) < s.route.Concurrency {
		return time.Time{}
	}
	for _, b := range s.writing {
		since = laterOf(since, b.formedAt)
	}
	return since
}

// add counts deliveries of a partition, and why they wait. filling keeps its first value, because the oldest chunk is
// added first.
func (w *schedulerWaits) add(part *partition, added partitionWaits) {
	waits := w.byPartition[part]
	if waits == nil {
		waits = new(partitionWaits)
		w.byPartition[part] = waits
	}
	waits.deliveries += added.deliveries
	waits.backoff = waits.backoff || added.backoff
	if waits.filling.IsZero() {
		waits.filling = added.filling
	}
	waits.writing = earlierOf(waits.writing, added.writing)
	waits.letters = earlierOf(waits.letters, added.letters)
}
