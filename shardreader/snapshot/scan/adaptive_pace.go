package scan

import (
	"sync"
	"time"
)

// Pace is an adaptive rate of read units a second. It halves if a request is throttled, and rises again by a constant
// amount each second. It is safe for concurrent use.
type Pace struct {
	maxRate float64            // maximum rate; 0 if there is no limit until a request is throttled
	slowed  func(rate float64) // may be nil

	mu             sync.Mutex
	rate           float64 // rate at the time since; 0 if there is no limit
	raisePerSecond float64 // amount by which the rate rises each second
	since          time.Time
	halvedAt       time.Time // when the rate was last halved
	secondBegan    time.Time // when the present second began
	units          float64   // units of the present second
	previousUnits  float64   // units of the previous second
}

const (
	minRate        = 1  // minimum rate, in read units a second
	restoreSeconds = 60 // seconds in which a rate rises from 0 to its former value
)

// NewPace returns a pace of at most maxRate units a second. If maxRate is 0, there is no limit until a request is
// throttled. The first throttled request sets the rate to half of the units that were read in the last second. slowed
// is called with each lower rate, by one goroutine at a time. It must not call the Pace, and may be nil.
func NewPace(maxRate float64, slowed func(rate float64)) *Pace {
	now := time.Now()
	return &Pace{maxRate: maxRate, rate: maxRate, raisePerSecond: maxRate / restoreSeconds, slowed: slowed,
		since: now, secondBegan: now}
}

// Rate returns the units a second that may be read now; 0 if there is no limit.
func (p *Pace) Rate() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.raiseRate(time.Now())
}

// raiseRate raises the rate by raisePerSecond for each second since the last call, and returns the rate.
func (p *Pace) raiseRate(now time.Time) float64 {
	if p.rate > 0 {
		p.rate += p.raisePerSecond * now.Sub(p.since).Seconds()
		if p.maxRate > 0 {
			p.rate = min(p.rate, p.maxRate)
		}
	}
	p.since = now
	return p.rate
}

// AddUnits counts units that were read.
func (p *Pace) AddUnits(units float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nextSecond(time.Now())
	p.units += units
}

// nextSecond begins a new second if the present second is over.
func (p *Pace) nextSecond(now time.Time) {
	switch passed := now.Sub(p.secondBegan); {
	case passed >= 2*time.Second:
		p.previousUnits, p.units, p.secondBegan = 0, 0, now
	case passed >= time.Second:
		p.previousUnits, p.units, p.secondBegan = p.units, 0, now
	}
}

// SlowDown halves the rate, unless the rate was halved within the last second. So several requests that are throttled
// together halve the rate once.
func (p *Pace) SlowDown() {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.halvedAt) < time.Second {
		return
	}
	p.halvedAt = now
	rate := p.raiseRate(now)
	if rate == 0 {
		p.nextSecond(now)
		rate = max(p.units, p.previousUnits)
		p.raisePerSecond = rate / restoreSeconds
	}
	p.raisePerSecond = max(p.raisePerSecond, float64(minRate)/restoreSeconds)
	p.rate = max(rate/2, minRate)
	if p.slowed != nil {
		p.slowed(p.rate)
	}
}
