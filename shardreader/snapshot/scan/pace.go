package scan

import (
	"sync"
	"time"
)

// Pace is a rate of read capacity units a second that gives way: it halves if a request is throttled, and rises again
// by the same amount each second. It is safe for concurrent use.
type Pace struct {
	most   float64            // 0: no limit until a request is throttled
	slowed func(rate float64) // may be nil

	mu     sync.Mutex
	rate   float64 // at the time of since; 0: no limit
	step   float64 // by which the rate rises each second
	since  time.Time
	halved time.Time // when the rate was halved last
	second time.Time // when the present second began
	units  float64   // of the present second
	before float64   // of the second before it
}

const (
	leastRate = 1  // read units a second, below which a pace does not fall
	restoring = 60 // seconds in which a rate rises from nothing to what it was
)

// NewPace returns a pace of units a second at most; 0 is no limit, until the first throttled request sets one at half
// of what was read in the last second. slowed is called with each lower rate, by one goroutine at a time, and must not
// call the Pace; nil calls nothing.
func NewPace(most float64, slowed func(rate float64)) *Pace {
	now := time.Now()
	return &Pace{most: most, rate: most, step: most / restoring, slowed: slowed, since: now, second: now}
}

// Rate returns the units a second that may be read at present; 0 is no limit.
func (p *Pace) Rate() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.restore(time.Now())
}

// restore raises the rate by what the time since the last call gives, and returns it.
func (p *Pace) restore(now time.Time) float64 {
	if p.rate > 0 {
		p.rate += p.step * now.Sub(p.since).Seconds()
		if p.most > 0 {
			p.rate = min(p.rate, p.most)
		}
	}
	p.since = now
	return p.rate
}

// Used counts units that were read.
func (p *Pace) Used(units float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(time.Now())
	p.units += units
}

// turn begins another second if the present one is over.
func (p *Pace) turn(now time.Time) {
	switch passed := now.Sub(p.second); {
	case passed >= 2*time.Second:
		p.before, p.units, p.second = 0, 0, now
	case passed >= time.Second:
		p.before, p.units, p.second = p.units, 0, now
	}
}

// Throttled halves the rate. Requests that are throttled together count once: a rate that was halved within the last
// second stays.
func (p *Pace) Throttled() {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.halved) < time.Second {
		return
	}
	p.halved = now
	rate := p.restore(now)
	if rate == 0 {
		p.turn(now)
		rate = max(p.units, p.before)
		p.step = rate / restoring
	}
	p.step = max(p.step, float64(leastRate)/restoring)
	p.rate = max(rate/2, leastRate)
	if p.slowed != nil {
		p.slowed(p.rate)
	}
}
