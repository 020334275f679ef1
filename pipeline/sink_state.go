package pipeline

import (
	"sync/atomic"
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
	st := SinkState{Name: s.route.Name, Pending: s.route.ledger.Pending, Failing: s.retryLog.since}
	if s.retryLog.last != nil {
		st.Error = redact.LogText(s.retryLog.last)
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

// health is when a sink's Writes last succeeded and last failed for now. What is refused for good says nothing of the
// sink.
type health struct{ wrote, failed atomic.Int64 }

// update notes what a Write answered: the error of all of it, or of each delivery.
func (h *health) update(batchErr error, errs []error) {
	wrote, failed := false, false
	note := func(err error) {
		_, retry := Retryable(err)
		wrote, failed = wrote || err == nil, failed || retry
	}
	if batchErr != nil {
		note(batchErr)
	} else {
		for _, err := range errs {
			note(err)
		}
	}
	now := time.Now().UnixNano()
	if wrote {
		h.wrote.Store(now)
	}
	if failed {
		h.failed.Store(now)
	}
}

// times are what see noted; zero where there is nothing.
func (h *health) times() (wrote, failed time.Time) {
	return at(h.wrote.Load()), at(h.failed.Load())
}

func at(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}

// newestTime is the creation time of the newest change that a stage is done with.
type newestTime struct{ nanos atomic.Int64 }

func (n *newestTime) update(t time.Time) {
	if t.IsZero() {
		return
	}
	for at := t.UnixNano(); ; {
		old := n.nanos.Load()
		if at <= old || n.nanos.CompareAndSwap(old, at) {
			return
		}
	}
}

// lag is how far the stage is behind now; false before the first change.
func (n *newestTime) lag(now time.Time) (time.Duration, bool) {
	at := n.nanos.Load()
	if at == 0 {
		return 0, false
	}
	return now.Sub(time.Unix(0, at)), true
}
