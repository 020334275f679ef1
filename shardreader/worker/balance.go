package worker

import (
	"slices"
	"time"
)

// A worker asks for a busier lease at most once in this time, and for this many at once.
const (
	moveEvery = 30 * time.Second
	askAtOnce = 16
)

// balance takes leases that are free, up to this worker's share, and asks others for some
// when it has fewer. Shares are by number; within them busy leases are spread by load.
func (w *Worker) balance() {
	if !w.heartbeatFresh() || w.suspended || w.leaving {
		return
	}
	live := w.live()
	owned := make(map[string][]*row, len(live))
	for _, id := range live {
		owned[id] = nil
	}
	var free []*row
	active, mine := 0, 0
	for _, r := range w.rows.all() {
		if !w.active(r) {
			continue
		}
		active++
		switch {
		case w.mine(r):
			mine++
		case w.free(r):
			if w.pinnedElsewhere(r, live) == "" {
				free = append(free, r)
			}
		default:
			if has, ok := owned[r.Owner]; ok {
				owned[r.Owner] = append(has, r)
			}
		}
	}
	share := (active + len(live) - 1) / max(1, len(live))
	// Each begins at another place of the list, so that they seldom want the same.
	if n := len(free); n > 0 {
		at := n * max(0, slices.Index(live, w.o.Worker)) / max(1, len(live))
		free = append(free[at:n:n], free[:at]...)
	}
	w.takes = w.takes[:0]
	taking := 0
	for _, r := range free {
		if mine+taking < share || w.pinnedHere(r) || r.Wanted == w.o.Worker {
			w.takes = append(w.takes, r)
			taking++
		}
	}
	w.takeNext()
	if taking == 0 && len(free) == 0 {
		w.ask(live, owned, share, mine)
	}
}

// ask marks leases of others as wanted by this worker.
func (w *Worker) ask(live []string, owned map[string][]*row, share, mine int) {
	asked := 0
	for _, id := range live {
		for _, r := range owned[id] {
			if r.Wanted == w.o.Worker {
				asked++
			}
			if w.pinnedHere(r) && r.Wanted == "" && w.peers[id] != nil && w.peers[id].Name != r.Pinned {
				w.askFor(r)
			}
		}
	}
	if asked == 0 && w.askForFew(live, owned, share, mine) {
		return
	}
	if asked == 0 && w.now-w.moved >= moveEvery {
		w.askForLoad(live, owned, mine)
	}
}

// askForFew asks the workers that have most for their idlest leases, up to a fair share,
// where a move makes the numbers more even. It
// tells whether it asked.
func (w *Worker) askForFew(live []string, owned map[string][]*row, share, mine int) bool {
	left := make(map[string]int, len(live))
	for _, id := range live {
		left[id] = len(owned[id])
	}
	asked := false
	for n := mine; n < share && n-mine < askAtOnce; n++ {
		most := ""
		for _, id := range live {
			if id != w.o.Worker && (most == "" || left[id] > left[most]) {
				most = id
			}
		}
		if most == "" || left[most] < n+2 {
			break // a move would make nothing more even
		}
		left[most]--
		r := pick(owned[most], func(a, b *row) bool { return a.Load < b.Load })
		if r == nil {
			break
		}
		w.askFor(r)
		asked = true
	}
	return asked
}

// askForLoad asks the busiest worker for a lease whose move makes both more even.
func (w *Worker) askForLoad(live []string, owned map[string][]*row, mine int) {
	sum := func(rows []*row) (load float64) {
		for _, r := range rows {
			load += r.Load
		}
		return load
	}
	own := 0.0
	for p := range w.assigned() {
		own += p.row.Load
	}
	busiest, most, all := "", 0.0, own
	for _, id := range live {
		l := sum(owned[id])
		all += l
		if l > most {
			busiest, most = id, l
		}
		if id != w.o.Worker && l < own {
			return // another one has less to do
		}
	}
	even := all / max(1, float64(len(live)))
	if busiest == "" || most-own < even/2 || len(owned[busiest]) < 2 || mine > len(owned[busiest]) {
		return
	}
	// The one nearest to half of the difference.
	half := (most - own) / 2
	r := pick(owned[busiest], func(a, b *row) bool { return distance(a.Load, half) < distance(b.Load, half) })
	if r != nil && r.Load > even/10 && r.Load < (most-own)*0.8 {
		w.moved = w.now
		w.askFor(r)
	}
}

func distance(a, b float64) float64 { return max(a-b, b-a) }

// pick is the best of the rows that may be asked for.
func pick(rows []*row, better func(a, b *row) bool) *row {
	var best *row
	for _, r := range rows {
		if r.busy || r.Wanted != "" || r.Pinned != "" {
			continue
		}
		if best == nil || better(r, best) {
			best = r
		}
	}
	return best
}

func (w *Worker) askFor(r *row) {
	if r.busy {
		return
	}
	next := r.Clone()
	next.Wanted = w.o.Worker
	w.write(&leaseWrite{why: requestLease, row: r, next: next})
}
