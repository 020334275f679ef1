package run

import "sync"

// gate bounds how many repairs run at once. A throttled repair halves the bound, but those that began before the last
// halving do not halve it again: one burst of refused calls counts once. After n repairs without throttling, where n is the
// bound, the bound grows by one.
type gate struct {
	mu      sync.Mutex
	freed   sync.Cond
	most    int // the bound without throttling
	bound   int
	running int
	smooth  int // repairs since the bound changed that were not throttled
	halved  int // how often the bound was halved
}

func newGate(most int) *gate {
	g := &gate{most: most, bound: most}
	g.freed.L = &g.mu
	return g
}

// enter blocks until one more repair may run. The caller passes what it returns to leave.
func (g *gate) enter() (halved int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.running >= g.bound {
		g.freed.Wait()
	}
	g.running++
	return g.halved
}

// leave ends a repair that entered after so many halvings.
func (g *gate) leave(halved int, throttled bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	switch {
	case throttled && halved == g.halved:
		g.bound, g.smooth = max(1, g.bound/2), 0
		g.halved++
	case throttled:
	case g.bound < g.most && g.smooth+1 >= g.bound:
		g.bound, g.smooth = g.bound+1, 0
	default:
		g.smooth++
	}
	g.freed.Broadcast()
}
