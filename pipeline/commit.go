package pipeline

import (
	"context"
	"log/slog"
	"slices"
	"sort"
	"time"
)

// finishDeliveries notes that n deliveries of a page are finished. After the last one of the page, the watermark of its
// partition can move.
func (r *run) finishDeliveries(in *inflightPage, n int) {
	if in.unfinished -= n; in.unfinished > 0 {
		return
	}
	if pos, ok := in.partition.watermark.Finish(in.watermarkID, in.deliveries); ok {
		r.setWatermark(in.partition, pos)
	}
	r.endPage(in)
}

// endPage ends a page that has no unfinished delivery.
func (r *run) endPage(in *inflightPage) {
	r.unfinished--
	in.partition.unfinished--
	r.effects.endedPages = append(r.effects.endedPages, in)
	r.forget(in.partition)
}

// Watermark computes how far a partition is finished. Pages begin in the order of the partition and finish in any
// order. The watermark is the position of the last page before which no page is unfinished. The zero Watermark is ready
// for use. It needs a lock if several goroutines use it.
type Watermark struct {
	nextID     uint64
	pages      []watermarkPage // in the order of id; one entry, the last, can stand for several finished pages in a row
	passed     int             // pages[:passed] are finished, and the watermark is past them
	unfinished int             // pages with pending deliveries
}

type watermarkPage struct {
	id      uint64
	pos     Position
	pending int
}

// Begin adds a page that ends at pos and has pending deliveries. Without any, the page is finished at once. Begin
// returns the id of the page, for Finish. If the page moves the watermark at once, ok is true and the new watermark is
// pos.
func (w *Watermark) Begin(pos Position, pending int) (id uint64, ok bool) {
	id = w.nextID
	w.nextID++
	if pending <= 0 && w.passed == len(w.pages) {
		return id, true
	}
	if pending <= 0 && w.pages[len(w.pages)-1].pending == 0 {
		// It replaces the finished page before it. A partition that is blocked for hours needs one entry for all the
		// finished pages after the blocked one.
		w.pages[len(w.pages)-1] = watermarkPage{id: id, pos: pos}
		return id, false
	}
	w.pages = append(w.pages, watermarkPage{id: id, pos: pos, pending: max(pending, 0)})
	if pending > 0 {
		w.unfinished++
	}
	return id, false
}

// Finish subtracts n from the pending deliveries of a page. If that moves the watermark, ok is true and pos is the new
// watermark. An n above the pending deliveries has no effect, and neither has the id of a finished page.
func (w *Watermark) Finish(id uint64, n int) (pos Position, ok bool) {
	rest := w.pages[w.passed:]
	i := sort.Search(len(rest), func(i int) bool { return rest[i].id >= id })
	if i == len(rest) || rest[i].id != id || rest[i].pending < n || n <= 0 {
		return "", false
	}
	rest[i].pending -= n
	if rest[i].pending > 0 {
		return "", false
	}
	w.unfinished--
	for w.passed < len(w.pages) && w.pages[w.passed].pending == 0 {
		pos, ok = w.pages[w.passed].pos, true
		w.passed++
	}
	w.compact()
	return pos, ok
}

// Open returns the number of unfinished pages.
func (w *Watermark) Open() int { return w.unfinished }

// oldestUnfinished returns the id of the oldest unfinished page, or the next id if all pages are finished.
func (w *Watermark) oldestUnfinished() uint64 {
	if w.passed < len(w.pages) {
		return w.pages[w.passed].id
	}
	return w.nextID
}

// compact drops the passed pages, and merges finished pages in a row into one entry. It does so once these are most of
// the entries. So the number of entries is at most a few times the number of unfinished pages, and Finish takes
// constant time on average.
func (w *Watermark) compact() {
	if len(w.pages) < 4*w.unfinished+64 {
		return
	}
	kept := w.pages[:0]
	for _, p := range w.pages[w.passed:] {
		if n := len(kept); n > 0 && p.pending == 0 && kept[n-1].pending == 0 {
			kept[n-1] = p
			continue
		}
		kept = append(kept, p)
	}
	clear(w.pages[len(kept):])
	w.pages, w.passed = slices.Clip(kept), 0
}

// setWatermark stores the new watermark of a partition, and starts its committer unless it runs.
func (r *run) setWatermark(part *partition, pos Position) {
	if r.committer == nil {
		return
	}
	part.toCommit, part.uncommitted = pos, true
	if !part.committing {
		part.committing = true
		r.work.Go(func() { r.commit(part) })
	}
}

// commitTimeout bounds one Commit. A stop does not cancel a Commit: the next run repeats what was not committed.
const commitTimeout = 10 * time.Second

// commit is the committer of a partition. It runs until the newest watermark is committed. It skips older watermarks,
// so committed positions never go back. After a hard stop it tries a position once: the next run reads again from the
// last committed position.
func (r *run) commit(part *partition) {
	more := true
	for more {
		err := r.retry(r.hardCtx, func() error {
			var pos Position
			r.step(func(time.Time) {
				pos, more = part.toCommit, part.uncommitted
				part.uncommitted, part.committing = false, more
				if !more {
					r.forget(part)
				}
			})
			if !more {
				return nil
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.hardCtx), commitTimeout)
			defer cancel()
			return guard("committer", &r.p.patience.commit, func() error { return r.committer.Commit(ctx, part.name, pos) })
		}, func(attempt int, err error) bool {
			r.p.log.LogAttrs(r.hardCtx, slog.LevelWarn, "commit failed and is tried again",
				r.p.failureAttrs(Failure{}, err, slog.String("partition", part.name), slog.Int("attempt", attempt+1))...)
			r.step(func(time.Time) {
				part.uncommitted = !part.state.isRevoked()
				r.failIfFatal(err)
			})
			return true
		})
		if err != nil {
			r.step(func(time.Time) { part.committing = false })
			return
		}
	}
}
