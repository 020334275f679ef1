package pipeline

import (
	"context"
	"log/slog"
	"slices"
	"sort"
	"time"
)

// Watermark tells how far a partition is finished. Pages begin in the order of
// the partition and finish in any order; the watermark is the position of the last page
// before which all are finished. It is a step function without clock, goroutine
// or lock. The zero Watermark is ready for use.
type Watermark struct {
	nextID     uint64
	pages      []watermarkPage // by id; a run of finished marks may stand as its last one
	passed     int             // marks before it are passed
	unfinished int             // marks with something pending
}

type watermarkPage struct {
	id      uint64
	pos     Position
	pending int
}

// Begin notes a page that ends at pos and has pending deliveries (0: it is
// finished as it begins). The id is for Finish. When the page moves the
// watermark at once, ok is true and the new watermark is pos.
func (w *Watermark) Begin(pos Position, pending int) (id uint64, ok bool) {
	id = w.nextID
	w.nextID++
	if pending <= 0 && w.passed == len(w.pages) {
		return id, true
	}
	if pending <= 0 && w.pages[len(w.pages)-1].pending == 0 {
		// Extends a run of finished pages behind an unfinished one: a partition
		// that is blocked for hours keeps one mark for all that went on behind.
		w.pages[len(w.pages)-1] = watermarkPage{id: id, pos: pos}
		return id, false
	}
	w.pages = append(w.pages, watermarkPage{id: id, pos: pos, pending: max(pending, 0)})
	if pending > 0 {
		w.unfinished++
	}
	return id, false
}

// Finish takes n deliveries off a page. When that moves the watermark, ok is true
// and pos is the new one. More than is pending, or an id that is done, changes nothing.
func (w *Watermark) Finish(id uint64, n int) (pos Position, ok bool) {
	live := w.pages[w.passed:]
	i := sort.Search(len(live), func(i int) bool { return live[i].id >= id })
	if i == len(live) || live[i].id != id || live[i].pending < n || n <= 0 {
		return "", false
	}
	live[i].pending -= n
	if live[i].pending > 0 {
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

// Open is the number of pages that are not finished.
func (w *Watermark) Open() int { return w.unfinished }

// compact drops the marks that are passed and merges runs of finished ones, once
// they are the larger part: so the marks are never more than a few times the
// open ones, and a step costs constant time on average.
func (w *Watermark) compact() {
	if len(w.pages) < 4*w.unfinished+64 {
		return
	}
	kept := w.pages[:0]
	for _, m := range w.pages[w.passed:] {
		if n := len(kept); n > 0 && m.pending == 0 && kept[n-1].pending == 0 {
			kept[n-1] = m
			continue
		}
		kept = append(kept, m)
	}
	clear(w.pages[len(kept):])
	w.pages, w.passed = slices.Clip(kept), 0
}

// finishDeliveries notes that n deliveries of a page are finished.
func (r *run) finishDeliveries(in *inflightPage, n int) {
	if in.unfinished -= n; in.unfinished > 0 {
		return
	}
	if pos, ok := in.partition.watermark.Finish(in.watermarkID, in.deliveries); ok {
		r.setWatermark(in.partition, pos)
	}
	r.endPage(in)
}

// endPage ends a page: all of its deliveries are finished, or it has none.
func (r *run) endPage(in *inflightPage) {
	r.unfinished--
	in.partition.unfinished--
	r.effects.endedPages = append(r.effects.endedPages, in)
	r.forget(in.partition)
}

// setWatermark takes over a new watermark.
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

// commitTimeout bounds one Commit. A stop does not cut it short: what is durable
// should be known as such, also by the next run.
const commitTimeout = 10 * time.Second

// commit is the partition's committer, while there is something to commit. It always commits the newest watermark,
// so positions are skipped and never go back. After a hard stop a position has one try: the next run reads again
// from the last commit that worked.
func (r *run) commit(part *partition) {
	more := true
	for more {
		err := r.retry(r.hard, func() error {
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
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.hard), commitTimeout)
			defer cancel()
			return guard("committer", &r.p.patience.commit, func() error { return r.committer.Commit(ctx, part.name, pos) })
		}, func(attempt int, err error) bool {
			r.p.log.LogAttrs(r.hard, slog.LevelWarn, "commit failed and is tried again",
				r.p.failed(Failure{}, err, slog.String("partition", part.name), slog.Int("attempt", attempt+1))...)
			r.step(func(time.Time) {
				part.uncommitted = !part.state.revoked()
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
