package coordinator

import (
	"log/slog"
	"time"

	"github.com/tablewake/tablewake/shardreader"
)

// maxReservation is the longest time that a reservation may take. A reservation raises the shared count. If it is slow,
// another consumer may already have seen the raised count for long enough to make a call, and both calls coincide.
const maxReservation = 200 * time.Millisecond

// describeQuota spaces the DescribeStream calls of the whole fleet. All consumers share a count. A consumer waits until
// the count was unchanged for describeInterval, raises it, and makes one call. So the whole fleet makes at most one
// call in each describeInterval, and no two clocks are compared.
type describeQuota struct {
	queue              []describeRequest
	seenCount          int64         // the count that this consumer saw last; -1 if it has seen no count
	unchangedSince     time.Duration // since when this consumer sees the count unchanged
	isBusy             bool          // a reservation or a call is in flight
	timerRuns          bool          // a timer for the next call runs
	fastestReservation time.Duration
	tries              tries
}

// describeRequest is a DescribeStream call that waits, or is in flight.
type describeRequest struct {
	query  shardreader.DescribeQuery
	wanted func() bool
	done   func(d shardreader.StreamDescription, err error)
}

var errCallNotWanted = errs.New("the call is not wanted any more")

// queueDescribe queues a DescribeStream call. done receives the result. If wanted returns false when the turn of the
// call comes, the call is not made, and done receives errCallNotWanted.
func (c *Coordinator) queueDescribe(
	q shardreader.DescribeQuery, wanted func() bool, done func(shardreader.StreamDescription, error),
) {
	c.quota.queue = append(c.quota.queue, describeRequest{q, wanted, done})
}

// reserveDescribe takes the right to make the first wanted call of the queue, unless the call must wait.
func (c *Coordinator) reserveDescribe() {
	q := &c.quota
	for len(q.queue) > 0 && !q.queue[0].wanted() {
		q.takeFirst().done(shardreader.StreamDescription{}, errCallNotWanted)
	}
	if q.isBusy || q.timerRuns || len(q.queue) == 0 || c.stop.state == stopDone {
		return
	}
	wait := q.unchangedSince + c.describeInterval() - c.now
	if q.seenCount >= 0 && wait > 0 {
		c.delayDescribe(wait)
		return
	}
	q.isBusy = true
	sent := c.now
	c.emit(ReserveCall{newCall(c, func(e ReserveCallResult) { c.handleReservation(sent, e) }), DescribeQuota, q.seenCount})
}

// takeFirst removes the first call from the queue, and returns it.
func (q *describeQuota) takeFirst() describeRequest {
	first := q.queue[0]
	q.queue = withoutFirst(q.queue, 1)
	return first
}

// describeInterval returns the shortest time between two DescribeStream calls of the fleet.
func (c *Coordinator) describeInterval() time.Duration {
	return time.Duration(float64(time.Second) / c.options.DescribeRate)
}

// delayDescribe makes the next call wait for d.
func (c *Coordinator) delayDescribe(d time.Duration) {
	c.quota.timerRuns = true
	c.after(d, func() { c.quota.timerRuns = false })
}

// handleReservation handles the result of a ReserveCall action that was emitted at the time sent. If the right was
// taken fast enough, it makes the call. Otherwise reserveDescribe takes the right again later.
func (c *Coordinator) handleReservation(sent time.Duration, e ReserveCallResult) {
	q := &c.quota
	q.isBusy, q.unchangedSince = false, c.now
	if e.Err != nil {
		c.handleReservationError(e.Err)
		return
	}
	q.seenCount = e.Count
	if e.Count == 0 {
		q.unchangedSince = c.now - c.describeInterval() // no call was ever made, so the next one need not wait
	}
	took := c.now - sent
	if q.fastestReservation == 0 || took < q.fastestReservation {
		q.fastestReservation = max(took, 1)
	}
	isFastEnough := took <= max(maxReservation, 2*q.fastestReservation)
	if !e.OK || !isFastEnough || len(q.queue) == 0 {
		return
	}
	if took > maxReservation {
		c.logOnce("slow quota", slog.LevelWarn,
			"taking the right to a DescribeStream call takes long: shards are found slowly", slog.Duration("took", took))
	}
	q.tries = 0
	c.sendDescribe()
}

// handleReservationError takes the right again after a backoff.
func (c *Coordinator) handleReservationError(err error) {
	c.logOnce("quota", slog.LevelWarn, "the count of DescribeStream calls cannot be read: new shards wait for it",
		errAttr(err))
	c.quota.seenCount = -1
	c.delayDescribe(c.quota.tries.nextBackoff(c, maxBackoff, err))
}

// sendDescribe makes the first call of the queue.
func (c *Coordinator) sendDescribe() {
	q := &c.quota
	request := q.takeFirst()
	q.isBusy = true
	c.emit(DescribeStream{newCall(c, func(e DescribeStreamResult) {
		q.isBusy = false
		delete(c.logged, "quota")
		request.done(e.Description, e.Err)
	}), request.query})
}
