package pipeline

import (
	"cmp"
	"slices"
)

// Watermark computes how far a partition is finished. Pages begin in the order of the partition and finish in any
// order. The watermark is the position of the last page that is finished together with all pages before it. The zero
// Watermark is ready for use. A Watermark is not safe for concurrent use.
type Watermark struct {
	nextID      uint64
	pages       []watermarkPage // in the order of id; a finished entry can stand for several finished pages in a row
	passedCount int             // pages[:passedCount] are finished, and the watermark has passed them
	unfinished  int             // number of pages with pending deliveries
}

type watermarkPage struct {
	id      uint64
	pos     Position
	pending int
}

// Begin adds a page that ends at pos. pending is its number of unfinished deliveries; with 0, the page is finished at
// once. Begin returns the id of the page, for Finish. If ok is true, the new watermark is pos.
func (w *Watermark) Begin(pos Position, pending int) (id uint64, ok bool) {
	id = w.nextID
	w.nextID++
	page := watermarkPage{id: id, pos: pos, pending: max(pending, 0)}
	last := len(w.pages) - 1
	switch {
	case page.pending > 0:
		w.unfinished++
		w.pages = append(w.pages, page)
	case w.passedCount == len(w.pages): // all pages before it are finished
		return id, true
	case w.pages[last].pending > 0:
		w.pages = append(w.pages, page)
	default:
		// The page before it is finished too: one entry is enough for both. So a partition that is blocked for hours needs
		// a single entry for all the finished pages after the blocked page.
		w.pages[last] = page
	}
	return id, false
}

// Finish subtracts n from the pending deliveries of a page. If that moves the watermark, ok is true and pos is the new
// watermark. A call has no effect if n is larger than the number of pending deliveries, or if the page is finished.
func (w *Watermark) Finish(id uint64, n int) (pos Position, ok bool) {
	notPassed := w.pages[w.passedCount:]
	compareID := func(page watermarkPage, id uint64) int { return cmp.Compare(page.id, id) }
	i, found := slices.BinarySearchFunc(notPassed, id, compareID)
	if !found || n <= 0 || n > notPassed[i].pending {
		return "", false
	}
	notPassed[i].pending -= n
	if notPassed[i].pending > 0 {
		return "", false
	}
	w.unfinished--
	for w.passedCount < len(w.pages) && w.pages[w.passedCount].pending == 0 {
		pos, ok = w.pages[w.passedCount].pos, true
		w.passedCount++
	}
	w.compact()
	return pos, ok
}

// Unfinished returns the number of unfinished pages.
func (w *Watermark) Unfinished() int { return w.unfinished }

// oldestUnfinished returns the id of the oldest unfinished page, or the next id if all pages are finished.
func (w *Watermark) oldestUnfinished() uint64 {
	if w.passedCount < len(w.pages) {
		return w.pages[w.passedCount].id
	}
	return w.nextID
}

// compact drops the pages that the watermark has passed, and merges finished pages in a row into one entry. It waits
// until there are several times as many entries as unfinished pages, so that Finish takes constant time on average.
func (w *Watermark) compact() {
	if len(w.pages) < 4*w.unfinished+64 {
		return
	}
	kept := w.pages[:0]
	for _, page := range w.pages[w.passedCount:] {
		last := len(kept) - 1
		if last >= 0 && kept[last].pending == 0 && page.pending == 0 {
			kept[last] = page
			continue
		}
		kept = append(kept, page)
	}
	clear(w.pages[len(kept):])
	w.pages, w.passedCount = slices.Clip(kept), 0 // the next append moves them to a smaller array
}
