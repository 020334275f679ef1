package pipeline

import (
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// SinkState is how a sink does now.
type SinkState struct {
	Name    string
	Pending int64     // changes that are routed to it, and neither written nor given up
	Oldest  time.Time // creation of the oldest of those that failed and wait; zero: none, or not known
	Failing time.Time // since when changes fail that are tried again; zero: none do
	Error   string    // of the last of them, as LogText has it
	Blocked int       // keys that wait behind a change that can never be written, as there are no dead letters
}

// Sinks is how the sinks do now, in their order; nil without a Run. It may be called at any time.
func (p *Pipeline) Sinks() []SinkState {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return nil
	}
	states := make([]SinkState, len(p.run.schedulers))
	for i, s := range p.run.schedulers {
		states[i] = s.sinkState()
	}
	return states
}

func (s *scheduler) sinkState() SinkState {
	st := SinkState{Name: s.route.Name, Pending: s.route.ledger.Pending, Failing: s.retries.since}
	if s.retries.last != nil {
		st.Error = redact.LogText(s.retries.last)
	}
	for _, l := range s.parked {
		if at := l.queue.first.d.Change.Time; !at.IsZero() && (st.Oldest.IsZero() || at.Before(st.Oldest)) {
			st.Oldest = at
		}
		if l.state == blocked {
			st.Blocked++
		}
	}
	return st
}
