package coordinator

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// newCall returns the number of a new call. handle receives the event with the result of the call, and decides what
// follows. A result of another type is a fault of the caller of Step, and panics.
func newCall[E Event](c *Coordinator, handle func(E)) Call {
	c.lastCall++
	c.calls[c.lastCall] = func(e Event) { handle(e.(E)) }
	return c.lastCall
}

// routeResult gives a result to the handler of its call.
func (c *Coordinator) routeResult(call Call, e Event) {
	handle := c.calls[call]
	delete(c.calls, call)
	if handle != nil {
		handle(e)
	}
}

// tries counts the failed tries of a call.
type tries int

// nextBackoff counts a failed try, and returns the time to wait before the next one. The result is a backoff of up to
// longest. If the server requests a longer wait with err, the result is that wait.
func (n *tries) nextBackoff(c *Coordinator, longest time.Duration, err error) time.Duration {
	requested, _ := pipeline.Retryable(err)
	backoff := c.backoff(int(*n), longest, requested)
	*n++
	return backoff
}

// transient reports whether the call that failed with err may be tried again.
func transient(err error) bool {
	_, ok := pipeline.Retryable(err)
	return ok
}
