package pipeline

import (
	"sync/atomic"
	"time"
)

// health is when a sink's Writes last succeeded and last failed for now. What is
// refused for good says nothing of the sink.
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
