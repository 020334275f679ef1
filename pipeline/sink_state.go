package pipeline

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// SinkState is the current state of a sink.
type SinkState struct {
	Name    string
	Pending int64     // number of changes that were routed to it and are not finished
	Oldest  time.Time // creation of the oldest change that failed and waits; zero: none, or unknown
	Failing time.Time // when the first of the failures that are tried again happened; zero: none
	Error   string    // redacted text of the last failure
	Blocked int       // number of keys that are blocked: a change can never be written, and there are no dead letters
}

// Sinks returns the states of the sinks in the order of Options.Routes. It returns nil if the pipeline does not run. It
// is safe for concurrent use.
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
	state := SinkState{Name: s.route.Name, Pending: s.route.ledger.Pending, Failing: s.retryLog.failingSince}
	if s.retryLog.lastErr != nil {
		state.Error = redact.LogText(s.retryLog.lastErr)
	}
	for _, lane := range s.parked {
		state.Oldest = earlierOf(state.Oldest, lane.queue.first.Change.Time)
		if lane.state == blocked {
			state.Blocked++
		}
	}
	return state
}

// health has the times when Writes of a sink last succeeded and last failed transiently. Permanent failures are not
// counted, because they prove nothing about the sink.
type health struct{ wrote, failed atomic.Int64 }

// update notes the result of a Write. If batchErr is not nil, it is the error of all deliveries. Otherwise errs has the
// error of each delivery.
func (h *health) update(batchErr error, errs []error) {
	if batchErr != nil {
		errs = []error{batchErr}
	}
	now := time.Now().UnixNano()
	if slices.Contains(errs, nil) {
		h.wrote.Store(now)
	}
	if slices.ContainsFunc(errs, isTransient) {
		h.failed.Store(now)
	}
}

// times returns the times of the last success and of the last transient failure. A time is zero if there was none.
func (h *health) times() (wrote, failed time.Time) {
	return timeOf(h.wrote.Load()), timeOf(h.failed.Load())
}

func timeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}
