package run

import "sync"

// gate limits the number of concurrent repairs. A throttled repair halves the limit, unless the repair began before the
// last halving. So one burst of refused calls halves the limit once. After n repairs without throttling, where n is the
// limit, the limit grows by one.
type gate struct {
	mu        sync.Mutex
	freed     sync.Cond
	fullLimit int // the limit without throttling
	limit     int
	running   int
	succeeded int // repairs without throttling since the limit changed
	halvings  int // number of times that the limit was halved
}

func newGate(limit int) *gate {
	g := &gate{fullLimit: limit, limit: limit}
	g.freed.L = &g.mu
	return g
}

// enter blocks until one more repair may run. It returns the number of halvings, which the caller passes to leave.
func (g *gate) enter() (halvings int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.running >= g.limit {
		g.freed.Wait()
	}
	g.running++
	return g.halvings
}

// leave ends a repair. halvings is what enter returned for the repair. throttled reports whether the store throttled a
// call of the repair.
func (g *gate) leave(halvings int, throttled bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if throttled {
		g.halve(halvings)
	} else {
		g.countSuccess()
	}
	g.freed.Broadcast()
}

// halve halves the limit, unless it was halved since halvings were counted. The caller holds g.mu.
func (g *gate) halve(halvings int) {
	if halvings == g.halvings {
		g.limit, g.succeeded = max(1, g.limit/2), 0
		g.halvings++
	}
}

// countSuccess counts a repair without throttling, and raises the limit if that is due. The caller holds g.mu.
func (g *gate) countSuccess() {
	g.succeeded++
	if g.limit < g.fullLimit && g.succeeded >= g.limit {
		g.limit, g.succeeded = g.limit+1, 0
	}
}
