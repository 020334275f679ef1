package run

import "sync"

// gate limits the number of concurrent repairs. A throttled repair halves the limit, unless the repair began before the
// last halving. So one burst of refused calls halves the limit once. After n repairs without throttling, where n is the
// limit, the limit grows by one.
type gate struct {
	mu        sync.Mutex
	freed     sync.Cond
	fullLimit int // the limit without throttling
	bound     int
	running   int
	smooth    int // repairs without throttling since the limit changed
	halved    int // number of halvings
}

func newGate(most int) *gate {
	g := &gate{fullLimit: most, bound: most}
	g.freed.L = &g.mu
	return g
}

// enter blocks until one more repair may run. The caller passes the result to leave.
func (g *gate) enter() (halved int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.running >= g.bound {
		g.freed.Wait()
	}
	g.running++
	return g.halved
}

// leave ends a repair. halved is the result of the repair's enter. throttled means that the repair was throttled.
func (g *gate) leave(halved int, throttled bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	switch {
	case throttled && halved == g.halved:
		g.bound, g.smooth = max(1, g.bound/2), 0
		g.halved++
	case throttled:
	case g.bound < g.fullLimit && g.smooth+1 >= g.bound:
		g.bound, g.smooth = g.bound+1, 0
	default:
		g.smooth++
	}
	g.freed.Broadcast()
}
