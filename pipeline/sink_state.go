package pipeline

import (
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

// health has the times when Writes of a sink last succeeded and last failed transiently. Permanent failures are not
// counted, because they prove nothing about the sink.
type health struct{ wrote, failed atomic.Int64 }

// update notes the result of a Write: batchErr for all deliveries if it is not nil, else an error for each delivery.
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

// newestTime is the creation time of the newest change that a stage has finished.
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

// lagAt returns the age of the newest finished change at now. It returns false before the first change.
func (n *newestTime) lagAt(now time.Time) (time.Duration, bool) {
	at := n.nanos.Load()
	if at == 0 {
		return 0, false
	}
	return now.Sub(time.Unix(0, at)), true
}
