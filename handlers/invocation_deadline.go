package handlers

import (
	"context"
	"time"
)

// The reserve is the time before the deadline in which no new Write starts. By default it is the invocation's time
// divided by reserveDivisor, but at least minReserve and at most maxReserve.
const (
	reserveDivisor = 10
	minReserve     = 200 * time.Millisecond
	maxReserve     = 10 * time.Second
)

var errDeadline = errs.New("the function's time is nearly over")

// deadlines has the times at which an invocation stops parts of its run, so that it answers in time. All times are zero
// if the invocation has no deadline.
type deadlines struct {
	revokeSoft time.Time // no new Write starts
	revokeHard time.Time // Writes in flight are cancelled
	stop       time.Time // the whole run is stopped, and with it a flush that still runs
	abandon    time.Time // the answer no longer waits for the run
}

// newDeadlines returns the deadlines of an invocation that starts now.
func (o *options) newDeadlines(ctx context.Context, now time.Time) deadlines {
	deadline, ok := ctx.Deadline()
	if !ok {
		return deadlines{}
	}
	remaining := max(0, deadline.Sub(now))
	reserve := o.reserve
	if reserve <= 0 {
		reserve = min(max(remaining/reserveDivisor, minReserve), maxReserve)
	}
	reserve = min(reserve, remaining/2)
	margin := o.margin
	if margin <= 0 {
		margin = reserve / 2
	}
	margin = min(margin, reserve)
	return deadlines{
		revokeSoft: deadline.Add(-reserve),
		revokeHard: deadline.Add(-margin),
		stop:       deadline.Add(-margin / 2),
		abandon:    deadline.Add(-margin / 4),
	}
}

// withDeadline returns a context that ends at the time of the soft revoke. Without a deadline, it returns a context
// that only cancel ends.
func (d deadlines) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.revokeSoft.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, d.revokeSoft, errDeadline)
}

// pastSoftRevoke reports whether the time of the soft revoke has passed.
func (d deadlines) pastSoftRevoke(now time.Time) bool {
	return !d.revokeSoft.IsZero() && !now.Before(d.revokeSoft)
}

// newTimer returns a channel that receives a value at the given time. If the time is zero, the channel never receives a
// value.
func newTimer(at time.Time) (fired <-chan time.Time, cancel func()) {
	if at.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(at))
	return timer.C, func() { timer.Stop() }
}
