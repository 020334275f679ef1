package worker

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A consumer requests one lease for its load at most once in moveEvery, and other leases up to askAtOnce together.
const (
	moveEvery = 30 * time.Second
	askAtOnce = 16
)

// shares are the leases that consumers should read now.
type shares struct {
	others []string          // live consumers but this one
	owned  map[string][]*row // by the others
	mine   int
	share  int    // the leases of each consumer, if all had as many
	free   []*row // those that this consumer may take
}

// balance takes leases that are free, up to this consumer's share, and asks others for some
// when it has fewer. Shares are by number; within them busy leases are spread by load.
func (w *Worker) balance() {
	if !w.heartbeatFresh() || w.leaving {
		return
	}
	s := w.shares()
	w.takes = w.takes[:0]
	for _, r := range s.free {
		if s.mine+len(w.takes) < s.share || w.pinnedHere(r) || r.RequestedBy == w.o.Worker {
			w.takes = append(w.takes, r)
		}
	}
	w.takeNext()
	if len(s.free) == 0 {
		w.ask(s)
	}
}

func (w *Worker) shares() shares {
	live := w.live()
	self := slices.Index(live, w.o.Worker)
	s := shares{others: slices.Delete(slices.Clone(live), self, self+1), owned: make(map[string][]*row)}
	active := 0
	for _, r := range w.rows.all() {
		if !w.active(r) {
			continue
		}
		active++
		switch {
		case w.mine(r):
			s.mine++
		case !w.free(r):
			s.owned[r.Owner] = append(s.owned[r.Owner], r)
		case w.pinnedElsewhere(r, live) == "":
			s.free = append(s.free, r)
		}
	}
	s.share = (active + len(live) - 1) / len(live)
	// Each begins at another place of the list, so that they seldom want the same.
	if n := len(s.free); n > 0 {
		at := n * self / len(live)
		s.free = append(s.free[at:n:n], s.free[:at]...)
	}
	return s
}

// ask requests leases of others, unless this consumer waits for some that it requested.
func (w *Worker) ask(s shares) {
	waits := false
	for _, id := range s.others {
		for _, r := range s.owned[id] {
			waits = waits || r.RequestedBy == w.o.Worker
			if w.pinnedHere(r) && r.RequestedBy == "" && w.peers[id].Name != r.Pinned {
				w.request(r)
			}
		}
	}
	if !waits && !w.requestFew(s) && w.now-w.moved >= moveEvery {
		w.requestForLoad(s)
	}
}

// requestFew asks the consumers that have most for their idlest leases, up to a fair share,
// as long as a move makes the numbers more even. It reports whether it asked.
func (w *Worker) requestFew(s shares) (asked bool) {
	left := make(map[string]int, len(s.others))
	for _, id := range s.others {
		left[id] = len(s.owned[id])
	}
	for n := s.mine; n < s.share && n-s.mine < askAtOnce && len(s.others) > 0; n++ {
		most := slices.MaxFunc(s.others, func(a, b string) int { return cmp.Compare(left[a], left[b]) })
		r := best(s.owned[most], func(r *row) float64 { return r.Load })
		if left[most] < n+2 || r == nil {
			break
		}
		left[most]--
		w.request(r)
		asked = true
	}
	return asked
}

// requestForLoad asks the busiest consumer for a lease whose move makes both more even.
func (w *Worker) requestForLoad(s shares) {
	own := 0.0
	for p := range w.assigned() {
		own += p.row.Load
	}
	busiest, most, least, all := "", 0.0, own, own
	for _, id := range s.others {
		load := 0.0
		for _, r := range s.owned[id] {
			load += r.Load
		}
		all += load
		least = min(least, load)
		if load > most {
			busiest, most = id, load
		}
	}
	even, has := all/float64(len(s.others)+1), s.owned[busiest]
	if least < own || busiest == "" || most-own < even/2 || len(has) < 2 || s.mine > len(has) {
		return
	}
	// The one nearest to half of the difference.
	r := best(has, func(r *row) float64 { return math.Abs(r.Load - (most-own)/2) })
	if r != nil && r.Load > even/10 && r.Load < (most-own)*0.8 {
		w.moved = w.now
		w.request(r)
	}
}

// best is the row with the least cost of those that may be requested; nil if there is none.
func best(rows []*row, cost func(*row) float64) (best *row) {
	for _, r := range rows {
		if !r.busy && r.RequestedBy == "" && r.Pinned == "" && (best == nil || cost(r) < cost(best)) {
			best = r
		}
	}
	return best
}

func (w *Worker) request(r *row) {
	if r.busy {
		return
	}
	next := r.Clone()
	next.RequestedBy = w.o.Worker
	w.write(&leaseWrite{why: requestLease, row: r, next: next})
}
