package pipeline

import "time"

// handOver gives the ready pages of a partition to the schedulers, in order. Pipeline.mu is held.
func (r *run) handOver(part *partition) {
	now := time.Now()
	for len(part.waiting) > 0 && (part.waiting[0].ready || part.revoked) {
		in := part.waiting[0]
		part.waiting[0] = nil
		part.waiting = part.waiting[1:]
		r.unplaced--
		part.broken = part.broken || in.givenBack
		if part.broken || part.revoked {
			r.unpin(in)
			r.finished(in)
		} else {
			r.place(in, now)
		}
		in.page, in.prep = nil, nil
	}
	r.settleEnd()
}

// place adds a page to the ledgers and hands its deliveries to the schedulers.
func (r *run) place(in *inflight, now time.Time) {
	part, prep := in.part, in.prep
	r.p.book(prep)
	in.arenas = make([]*planArena, len(prep.routes))
	for i := range prep.routes {
		in.left += len(prep.routes[i].items)
		in.arenas[i] = prep.routes[i].room
	}
	in.pins = in.left
	if in.tracker != nil {
		in.tracker.place(prep)
	}
	pending := in.left
	if in.err != nil {
		// The page's position is after the broken record, so it is never committed.
		pending++
		part.broken = true
		r.failed(in.err)
	}
	if in.tracker != nil {
		pending++ // the source answers for each record, so its page is never committed
	}
	mark, ok := part.wm.Begin(in.page.Position, pending)
	in.mark = mark
	part.ended = part.ended || in.page.End
	if ok {
		r.advance(part, in.page.Position)
	}
	for i, s := range r.scheds {
		s.accept(&prep.routes[i], now, part.drain)
	}
	if in.left == 0 {
		r.unpin(in)
		r.finished(in)
	}
}

// progressed receives the results of deliveries from the schedulers.
func (r *run) progressed(done []progress) {
	r.p.mu.Lock()
	r.progress(done)
	r.unlock()
}

// unlock unlocks Pipeline.mu, and returns arenas that no delivery needs to their pools.
func (r *run) unlock() {
	spent := r.spent
	r.spent = nil
	r.p.mu.Unlock()
	for _, in := range spent {
		for i, arena := range in.arenas {
			if arena != nil {
				r.p.routes[i].arenas.put(arena)
			}
		}
		in.arenas = nil
	}
}

// progress is progressed with Pipeline.mu held.
func (r *run) progress(done []progress) {
	for _, d := range done {
		in := d.page
		if d.unpinned > 0 {
			if in.pins -= d.unpinned; in.pins == 0 {
				r.unpin(in)
			}
		}
		if d.finished == 0 {
			continue
		}
		if pos, ok := in.part.wm.Finish(in.mark, d.finished); ok {
			r.advance(in.part, pos)
		}
		if in.left -= d.finished; in.left == 0 {
			r.finished(in)
		}
	}
	r.settleEnd()
}

func (r *run) unpin(in *inflight) {
	r.bounds.release(in.part.name, amount{in.bytes, in.changes})
	if in.arenas != nil {
		r.spent = append(r.spent, in)
	}
}

func (r *run) finished(in *inflight) {
	r.open--
	in.part.open--
	in.span.End()
	r.forget(in.part)
}

// endReading is called when all pages are read and prepared.
func (r *run) endReading() {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.eof = true
	r.settleEnd()
}

// settleEnd has the schedulers write incomplete batches once all pages are handed over, and closes drained once
// all are finished. Pipeline.mu is held.
func (r *run) settleEnd() {
	if !r.eof || r.unplaced > 0 {
		return
	}
	if !r.ending {
		r.ending = true
		for _, s := range r.scheds {
			s.end()
		}
	}
	if r.open == 0 && !r.allDone {
		r.allDone = true
		close(r.drained)
	}
}
