package handlers

import (
	"cmp"
	"context"
	"time"
)

// The reserve by default, as a part of the invocation's time and within bounds.
const (
	reservePart  = 10
	leastReserve = 200 * time.Millisecond
	mostReserve  = 10 * time.Second
)

var errDeadline = errs.New("the function's time is nearly over")

// cuts are the times at which an invocation gives up more and more, so that it answers
// in time. They are zero where it has no deadline.
type cuts struct {
	recall time.Time // nothing starts any more
	revoke time.Time // what is under way is cancelled
	stop   time.Time // what goes on nevertheless, a flush say, is cancelled too
	leave  time.Time // what does not listen is left alone, and ends behind the answer
}

// cutsOf are the cuts of an invocation that begins now.
func (o *options) cutsOf(ctx context.Context, now time.Time) cuts {
	deadline, ok := ctx.Deadline()
	if !ok {
		return cuts{}
	}
	left := max(0, deadline.Sub(now))
	reserve := min(cmp.Or(max(0, o.reserve), min(max(left/reservePart, leastReserve), mostReserve)), left/2)
	margin := min(cmp.Or(max(0, o.margin), reserve/2), reserve)
	return cuts{recall: deadline.Add(-reserve), revoke: deadline.Add(-margin), stop: deadline.Add(-margin / 2), leave: deadline.Add(-margin / 4)}
}

// context ends when nothing may start any more.
func (c cuts) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.recall.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, c.recall, errDeadline)
}

// over tells whether nothing may start any more.
func (c cuts) over(now time.Time) bool { return !c.recall.IsZero() && !now.Before(c.recall) }

// at is told when one of the times has come: never, where there is none.
func (c cuts) at(when time.Time) (come <-chan time.Time, cancel func()) {
	if when.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(when))
	return t.C, func() { t.Stop() }
}
