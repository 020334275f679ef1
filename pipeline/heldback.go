package pipeline

import (
	"cmp"
	"slices"
	"time"
)

// Why a partition is held back.
const (
	HeldByShare   = "share"   // it holds its fair share of the bounds, and is not read on
	HeldByBounds  = "bounds"  // the bounds are full, and nothing is read on
	HeldByBackoff = "backoff" // some of it failed and is tried again
	HeldByFilling = "filling" // some of it waits for a batch or an object to fill
)

// HeldBack is a reason why a partition is not read on, or why its checkpoint stays where it
// is. A partition may have several: its share is full because the keys of a sink back off.
type HeldBack struct {
	Partition string
	Sink      string    // that it waits for: of HeldByShare and HeldByBounds the one with most of it; "" for dead letters of what cannot be decoded
	Reason    string    // one of the above
	Since     time.Time // of HeldByBackoff: since the oldest page is stuck; of others than HeldByFilling: when it was first seen, which is looked for each second
	Bytes     int64     // memory that the partition has in flight
}

// HeldBack is what is held back now, the longest first; nil where nothing is. It may be
// called at any time, and looks at all that is queued.
func (p *Pipeline) HeldBack() []HeldBack {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return nil
	}
	return p.run.heldBack(time.Now())
}

// heldKey is a reason that lasts: which sink has most of a partition may change meanwhile.
type heldKey struct{ partition, sink, reason string }

// heldSince is since when a reason is there, when it was last seen, and the partition's oldest
// page then.
type heldSince struct {
	at, seen time.Time
	oldest   uint64
}

// heldBackGrace is for how long a partition may be seen to move, and still counts as held back
// when it is not moving after that: where a sink is slow, a page passes now and then.
const heldBackGrace = 3 * heldBackLook

// heldBack is [Pipeline.HeldBack]. Pipeline.mu is held.
func (r *run) heldBack(now time.Time) []HeldBack {
	waits := make([]schedulerWaits, len(r.scheds))
	for i, s := range r.scheds {
		waits[i] = s.waitsOf(now)
	}
	room := r.bounds.heldBack()
	var all []HeldBack
	seen := make(map[heldKey]heldSince)
	for _, part := range r.parts {
		if part.revoked {
			continue
		}
		share := room.of[part.name]
		add := func(sink, reason string, key heldKey, since time.Time) {
			if since.IsZero() {
				was, ok := r.heldSince[key]
				if oldest := part.wm.oldest(); !ok || was.oldest != oldest && reason == HeldByBackoff {
					was = heldSince{at: now, oldest: oldest}
				}
				was.seen = now
				seen[key], since = was, was.at
			}
			all = append(all, HeldBack{part.name, sink, reason, since, share.bytes})
		}
		switch reading := (heldKey{partition: part.name}); {
		case share.state != isRead:
			add(r.most(waits, part), HeldByShare, reading, time.Time{})
		case room.full && share.bytes > 0:
			add(r.most(waits, part), HeldByBounds, reading, time.Time{})
		}
		if len(part.waiting) > 0 && !part.waiting[0].ready {
			add("", HeldByBackoff, heldKey{part.name, "", HeldByBackoff}, time.Time{})
		}
		for i, w := range waits {
			of := w.of[part]
			if of == nil {
				continue
			}
			sink := r.scheds[i].route.Name
			if of.backoff {
				add(sink, HeldByBackoff, heldKey{part.name, sink, HeldByBackoff}, time.Time{})
			}
			if !of.filling.IsZero() {
				add(sink, HeldByFilling, heldKey{}, of.filling)
			}
		}
	}
	for key, was := range r.heldSince {
		if _, ok := seen[key]; !ok && now.Sub(was.seen) <= heldBackGrace {
			seen[key] = was
		}
	}
	r.heldSince = seen
	slices.SortFunc(all, func(a, b HeldBack) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// most is the sink with most of a partition; where none has any of it queued, the one with
// most of all.
func (r *run) most(waits []schedulerWaits, part *partition) (sink string) {
	var n, pending int64
	for i, w := range waits {
		var of int64
		if w.of[part] != nil {
			of = w.of[part].n
		}
		if of > n || of == n && n == 0 && w.pending > pending {
			sink, n, pending = r.scheds[i].route.Name, of, w.pending
		}
	}
	return sink
}

// oldest is the page before which all are finished: the id of the first mark that is not passed.
func (w *Watermark) oldest() uint64 {
	if w.head < len(w.marks) {
		return w.marks[w.head].id
	}
	return w.next
}

// schedulerWaits is what waits at one sink.
type schedulerWaits struct {
	of      map[*partition]*partitionWaits
	pending int64 // deliveries of all partitions
}

// partitionWaits is what waits of a partition at one sink.
type partitionWaits struct {
	n       int64     // deliveries; of those in a Write, keys
	backoff bool      // some failed, and are tried again
	filling time.Time // since when the oldest waits for its batch to fill; zero where none does
}

// waitsOf looks at all that the scheduler has.
func (s *scheduler) waitsOf(now time.Time) schedulerWaits {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := schedulerWaits{make(map[*partition]*partitionWaits), s.route.ledger.Pending}
	if s.closed {
		return w
	}
	fills := s.ready.n > 0 && s.waits() && !s.due(now)
	for i := range s.ready.chunks {
		c := &s.ready.chunks[i]
		of := w.at(c.page.part)
		of.n += int64(c.n)
		if fills && of.filling.IsZero() {
			of.filling = c.at
		}
	}
	type written struct {
		keys    int64
		backoff bool
	}
	flying := make(map[*batch]written)
	for l := range s.lanes.all() {
		failed := l.attempt > 0 || l.parked || l.dead > 0 && s.buried.blocked
		w.add(l.queue, failed)
		if l.batch != nil {
			b := flying[l.batch]
			flying[l.batch] = written{b.keys + 1, b.backoff || failed}
		}
	}
	for b, keys := range flying { // its items are the Write's until it is settled
		for _, part := range b.parts {
			of := w.at(part)
			of.n += keys.keys
			of.backoff = of.backoff || keys.backoff
		}
	}
	for _, b := range s.flying {
		for i := range b.chunks {
			w.at(b.chunks[i].page.part).n += int64(b.chunks[i].n)
		}
	}
	w.add(s.buried.items, s.buried.blocked)
	w.add(s.buried.putting, s.buried.blocked)
	return w
}

func (w *schedulerWaits) at(part *partition) *partitionWaits {
	of := w.of[part]
	if of == nil {
		of = new(partitionWaits)
		w.of[part] = of
	}
	return of
}

// add counts items, of which neighbours mostly belong to one partition.
func (w *schedulerWaits) add(items []item, backoff bool) {
	for i := 0; i < len(items); {
		part, from := items[i].page.part, i
		for i < len(items) && items[i].page.part == part {
			i++
		}
		of := w.at(part)
		of.n += int64(i - from)
		of.backoff = of.backoff || backoff
	}
}

// roomHeld is what the bounds hold back.
type roomHeld struct {
	full bool // the reader waits for room
	of   map[string]shareHeld
}

// shareHeld is what a partition has of the bounds.
type shareHeld struct {
	bytes int64
	state reading
}

func (b *bounds) heldBack() roomHeld {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := roomHeld{b.waiting && b.full(), make(map[string]shareHeld, len(b.shares))}
	for name, s := range b.shares {
		held.of[name] = shareHeld{s.held.bytes, s.state}
	}
	return held
}
