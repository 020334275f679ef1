package consume

import (
	"sync"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// rateWindow is the time over which a rate is measured.
const rateWindow = 10 * time.Second

// rateMeter measures the rate of a count that grows.
type rateMeter struct{ samples []rateSample } // samples of the window, and one sample before it

type rateSample struct {
	measuredAt time.Time
	n          int64
}

// add adds the count at now, and returns its growth per second.
func (m *rateMeter) add(now time.Time, n int64) float64 {
	m.samples = append(m.samples, rateSample{now, n})
	for len(m.samples) > 2 && now.Sub(m.samples[1].measuredAt) >= rateWindow {
		m.samples = m.samples[1:]
	}
	oldest := m.samples[0]
	elapsed := now.Sub(oldest.measuredAt).Seconds()
	if elapsed <= 0 {
		return 0
	}
	return float64(n-oldest.n) / elapsed
}

// rates measures the rates at which a consumer reads, and its sinks write. The zero rates is ready.
type rates struct {
	read  rateMeter
	sinks map[string]*rateMeter

	mu       sync.Mutex
	current  rateValues
	measured bool // there were two measures or more, so current is a rate
}

// rateValues are the present rates, per second.
type rateValues struct {
	read    float64            // records
	written map[string]float64 // changes, by sink

	letters    int64     // dead-lettered changes since the start
	lastLetter time.Time // time of the last growth of letters; zero: never
}

// measure adds the counts of the ledger l, which was read at the time now. Only one goroutine may call it.
func (r *rates) measure(now time.Time, l pipeline.Ledger) {
	hasSample := len(r.read.samples) > 0 // a rate needs two samples
	next := rateValues{read: r.read.add(now, l.Source.Read), written: make(map[string]float64, len(l.Sinks)),
		letters: l.DeadLetterCount(), lastLetter: r.current.lastLetter}
	if next.letters > r.current.letters {
		next.lastLetter = now
	}
	if r.sinks == nil {
		r.sinks = make(map[string]*rateMeter)
	}
	for name, sink := range l.Sinks {
		if r.sinks[name] == nil {
			r.sinks[name] = &rateMeter{}
		}
		next.written[name] = r.sinks[name].add(now, sink.Written)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current, r.measured = next, hasSample
}

// latest returns the current rates. It returns false until two measures have been made.
func (r *rates) latest() (rateValues, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current, r.measured
}
