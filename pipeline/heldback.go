package pipeline

import (
	"cmp"
	"slices"
	"time"
)

// Why a partition is held back.
const (
	HeldByShare   = "share"   // it uses its share of the bounds, and its reading is paused
	HeldByBounds  = "bounds"  // the bounds are full, and nothing is read
	HeldByBackoff = "backoff" // some of its changes failed and are tried again
	HeldByFilling = "filling" // some of its changes wait for a batch or an object to fill
	HeldByWriting = "writing" // some of its changes wait for a Write, or a Put of dead letters, that has lasted for half a minute
)

// HeldBack is a reason why the reading of a partition is paused, or why its checkpoint does not move. A partition can
// have several: the keys of a sink back off, and so the partition uses its share.
type HeldBack struct {
	Partition string

	// Sink is the sink that the partition waits for. For HeldByShare and HeldByBounds it is the one with most of the
	// partition's deliveries. It is "" if the partition waits for dead letters to be stored: for HeldByBackoff those of
	// records that cannot be decoded, for HeldByWriting any.
	Sink   string
	Reason string // one of the constants HeldBy...

	// Since is, for HeldByFilling, when the oldest change began to wait; for HeldByWriting, when the Write or Put
	// began; for the others, when a look once a second first saw the reason. HeldByBackoff starts again when another
	// page becomes the partition's oldest unfinished one.
	Since time.Time
	Bytes int64 // memory that the partition has in flight
}

// HeldBack lists the reasons why partitions are held back now, the oldest first. It returns nil if there is no reason
// or no run. It is safe for concurrent use, and its cost grows with the number of queued pages.
func (p *Pipeline) HeldBack() []HeldBack {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return nil
	}
	return p.run.heldBack(time.Now())
}

// heldKey identifies a reason from one call of heldBack to the next. Its sink and reason are "" for HeldByShare and
// HeldByBounds: a partition can change between the two, and between sinks, and still wait since the same time.
type heldKey struct{ partition, sink, reason string }

// heldSince is when a reason began, when it was last seen, and which page was the partition's oldest unfinished one
// when it began.
type heldSince struct {
	at, seen time.Time
	oldest   uint64
}

// heldBackGrace is how long a reason can be absent and still keep its start: with a slow sink, a page is read now and
// then.
const heldBackGrace = 3 * heldBackInterval

// heldBackScan is one look at what is held back.
type heldBackScan struct {
	run  *run
	now  time.Time
	all  []HeldBack
	seen map[heldKey]heldSince
}

// heldBack is [Pipeline.HeldBack]. Pipeline.mu is held.
func (r *run) heldBack(now time.Time) []HeldBack {
	waits := make([]schedulerWaits, len(r.schedulers))
	for i, s := range r.schedulers {
		waits[i] = s.countWaits(now)
	}
	scan := heldBackScan{run: r, now: now, seen: make(map[heldKey]heldSince)}
	for _, part := range r.partitions {
		if share := r.bounds.shares[part.name]; share != nil && !part.state.revoked() { // something was read of it
			scan.addPartition(part, share, waits)
		}
	}
	for key, was := range r.heldSince {
		if _, ok := scan.seen[key]; !ok && now.Sub(was.seen) <= heldBackGrace {
			scan.seen[key] = was
		}
	}
	r.heldSince = scan.seen
	slices.SortFunc(scan.all, func(a, b HeldBack) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Reason, b.Reason))
	})
	return scan.all
}

// addPartition adds the reasons of one partition.
func (h *heldBackScan) addPartition(part *partition, share *share, waits []schedulerWaits) {
	add := func(sink, reason string, since time.Time) {
		h.all = append(h.all, HeldBack{part.name, sink, reason, since, share.used.bytes})
	}
	reading := heldKey{partition: part.name}
	switch r := h.run; {
	case share.paused:
		add(r.mainSink(waits, part), HeldByShare, h.since(part, reading))
	case r.bounds.waiting && r.bounds.full() && share.used.bytes > 0:
		add(r.mainSink(waits, part), HeldByBounds, h.since(part, reading))
	}
	if len(part.waiting) > 0 && !part.waiting[0].ready {
		add("", HeldByBackoff, h.since(part, heldKey{part.name, "", HeldByBackoff}))
	}
	var letters time.Time
	for i, w := range waits {
		pw := w.byPartition[part]
		if pw == nil {
			continue
		}
		sink := h.run.schedulers[i].route.Name
		if pw.backoff {
			add(sink, HeldByBackoff, h.since(part, heldKey{part.name, sink, HeldByBackoff}))
		}
		if !pw.filling.IsZero() {
			add(sink, HeldByFilling, pw.filling)
		}
		if lastsLong(pw.writing, h.now) {
			add(sink, HeldByWriting, pw.writing)
		}
		letters = earlier(letters, pw.letters)
	}
	if lastsLong(letters, h.now) {
		add("", HeldByWriting, letters)
	}
}

// since returns when a reason that has no start of its own was first seen.
func (h *heldBackScan) since(part *partition, key heldKey) time.Time {
	was, ok := h.run.heldSince[key]
	if oldest := part.watermark.oldestUnfinished(); !ok || was.oldest != oldest && key.reason == HeldByBackoff {
		was = heldSince{at: h.now, oldest: oldest}
	}
	was.seen = h.now
	h.seen[key] = was
	return was.at
}

// lastsLong reports whether a Write that began then has lasted for heldBackLogAfter; false if began is zero.
func lastsLong(began, now time.Time) bool {
	return !began.IsZero() && now.Sub(began) >= heldBackLogAfter
}

// mainSink returns the sink with most of a partition's deliveries. If the partition has no queued delivery, it is the
// sink with most deliveries of all partitions.
func (r *run) mainSink(waits []schedulerWaits, part *partition) (sink string) {
	var n, pending int64
	for i, w := range waits {
		var n2 int64
		if w.byPartition[part] != nil {
			n2 = w.byPartition[part].n
		}
		if n2 > n || n2 == n && n == 0 && w.pending > pending {
			sink, n, pending = r.schedulers[i].route.Name, n2, w.pending
		}
	}
	return sink
}

// schedulerWaits has what waits for one sink, by partition.
type schedulerWaits struct {
	byPartition map[*partition]*partitionWaits
	pending     int64 // deliveries of all partitions
}

// partitionWaits describes the deliveries of one partition that wait for one sink.
type partitionWaits struct {
	n       int64     // deliveries
	backoff bool      // some failed, and are tried again
	filling time.Time // since when the oldest waits for its batch to fill; zero: none does
	writing time.Time // start of the oldest Write that some wait for; zero: none does
	letters time.Time // start of a Put of dead letters that has not failed; zero: there is none
}

// countWaits counts what waits in the scheduler, by partition.
func (s *scheduler) countWaits(now time.Time) schedulerWaits {
	w := schedulerWaits{make(map[*partition]*partitionWaits), s.route.ledger.Pending}
	if s.run.closed {
		return w
	}
	fills := s.ready.n > 0 && s.waitsToFill() && !s.isDue(now)
	since := s.nothingStarts()
	for i := range s.ready.chunks {
		c := &s.ready.chunks[i]
		pw := w.ofPartition(c.page.partition)
		pw.n += int64(c.n)
		if fills && pw.filling.IsZero() {
			pw.filling = c.addedAt
		}
		if !fills {
			pw.writing = earlier(pw.writing, since)
		}
	}
	for l := range s.lanes.all() {
		why := partitionWaits{backoff: l.attempt > 0 || s.waitsLong(l)}
		switch l.state {
		case writing:
			why.writing = l.batch.formedAt
		case queued:
			why.writing = since
		}
		for qd := range l.queue.all() {
			w.add(qd, why)
		}
	}
	for _, b := range s.writing {
		for _, qd := range b.deliveries {
			w.add(qd, partitionWaits{backoff: qd.lane.attempt > 0, writing: b.formedAt})
		}
		for i := range b.chunks {
			pw := w.ofPartition(b.chunks[i].page.partition)
			pw.n += int64(b.chunks[i].n)
			pw.writing = earlier(pw.writing, b.formedAt)
		}
	}
	letters := partitionWaits{backoff: s.deadLetters.failing}
	if !s.deadLetters.failing && s.deadLetters.putting != nil {
		letters.letters = s.deadLetters.putSince
	}
	for _, deliveries := range [][]*queuedDelivery{s.deadLetters.putting, s.deadLetters.deliveries} {
		for _, qd := range deliveries {
			w.add(qd, letters)
		}
	}
	return w
}

// nothingStarts returns since when no further Write can start, because the allowed number of Writes runs; zero if one
// can.
func (s *scheduler) nothingStarts() (since time.Time) {
	if len(s.writing) < s.route.Concurrency {
		return time.Time{}
	}
	for _, b := range s.writing {
		since = later(since, b.formedAt)
	}
	return since
}

func (w *schedulerWaits) ofPartition(part *partition) *partitionWaits {
	pw := w.byPartition[part]
	if pw == nil {
		pw = new(partitionWaits)
		w.byPartition[part] = pw
	}
	return pw
}

// add counts an item, and why it waits.
func (w *schedulerWaits) add(qd *queuedDelivery, why partitionWaits) {
	pw := w.ofPartition(qd.page.partition)
	pw.n++
	pw.backoff = pw.backoff || why.backoff
	pw.writing = earlier(pw.writing, why.writing)
	pw.letters = earlier(pw.letters, why.letters)
}
