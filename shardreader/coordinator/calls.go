package coordinator

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// Each kind of call has a type. A value of the type describes one call in flight: the request, the requester and the
// number of tries. Its method handleResult receives the event with the result, and decides what follows.

// newCall numbers a call. op must have a method handleResult for the event that answers the call.
func (c *Coordinator) newCall(op any) Call {
	c.lastCall++
	c.calls[c.lastCall] = op
	return c.lastCall
}

// routeResult hands a result to the call that it answers.
func routeResult[E Event](c *Coordinator, call Call, e E) {
	op, ok := c.calls[call].(interface{ handleResult(c *Coordinator, e E) })
	delete(c.calls, call)
	if ok {
		op.handleResult(c, e)
	}
}

// tries counts the failed tries of a call.
type tries int

// next returns the time to wait before the next try after err: a backoff of up to longest, but at least the time that
// the server requests.
func (n *tries) next(c *Coordinator, longest time.Duration, err error) time.Duration {
	server, _ := pipeline.Retryable(err)
	wait := c.backoff(int(*n), longest, server)
	*n++
	return wait
}

func transient(err error) bool {
	_, ok := pipeline.Retryable(err)
	return ok
}
