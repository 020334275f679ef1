package simulation

import (
	"errors"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// The sinks of a world.
const (
	states  = 0 // guarded: has every change
	some    = 1 // guarded: has some of the changes
	plain   = 2 // not guarded: counts what comes
	letters = 3 // dead letters: has what does not decode
	sinks   = 4
)

// sinkStore is the store of a sink, shared by all processes.
type sinkStore struct {
	n       int
	guarded bool
	held    map[string]*streamRecord // newest record of each key; only of a guarded sink
	arrived int                      // deliveries
	again   int                      // deliveries of records that it had already
}

// land applies a write of p that reaches the store. Meanwhile p may have ended, or lost its lease.
func (w *world) land(p *process, s *sinkStore, r *streamRecord) {
	if p.dead || p.paused || r.shard.row.there && r.shard.row.owner != p.id {
		w.tally.ZombieWrites++
	}
	s.arrived++
	if r.durable&(1<<s.n) != 0 {
		s.again++
		w.tally.Repeated++
	}
	if s.guarded {
		had := s.held[r.key]
		if had == nil || r.version.Compare(had.version) > 0 {
			s.held[r.key] = r
		} else if had != r {
			w.tally.Superseded++
		}
		if now := s.held[r.key]; had != nil && now.version.Compare(had.version) < 0 {
			w.broken("stored versions never fall", "%s in sink %d goes from #%d of %v to #%d of %v", r.key, s.n, had.index, had.shard, now.index, now.shard)
		}
	}
	r.durable |= 1 << s.n
}

var errSink = pipeline.Transient(errors.New("the sink does not answer"))

// deliver sends one write from the process to a store. answer runs in the process, if the process still lives.
func (p *process) deliver(s *sinkStore, r *streamRecord, answer func(error)) {
	w := p.w
	out, back := w.latency(SinkSlow, s.n), w.latency(SinkSlow, s.n)
	switch {
	case w.trouble(SinkFails, s.n):
		w.after(out+back, func() { p.inside(func() { answer(errSink) }) })
	case w.trouble(SinkLost, s.n):
		if w.chance(0.5) {
			w.after(out, func() { w.land(p, s, r) })
		}
		w.after(time.Second, func() { p.inside(func() { answer(errSink) }) })
	case w.trouble(SinkLate, s.n):
		w.after(w.between(time.Second, 10*time.Second), func() { w.land(p, s, r) })
		w.after(time.Second, func() { p.inside(func() { answer(errSink) }) })
	default:
		w.after(out, func() {
			w.land(p, s, r)
			w.after(back, func() { p.inside(func() { answer(nil) }) })
		})
	}
}
