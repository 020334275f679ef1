package coordinator

import (
	"log/slog"
	"slices"
	"time"
)

const month = 30 * 24 * time.Hour

// Unused calls can be made later: the calls of the last maxSaved, or minBurst calls if these are more.
const (
	minBurst = 10
	maxSaved = time.Minute
)

// callBudget limits the GetRecords calls of this consumer to its share of the fleet's budget.
type callBudget struct {
	tokens     float64 // calls that may be made now
	refilledAt time.Duration
	started    bool          // tokens were added at least once
	timerRuns  bool          // a timer for the next call runs: no call may be made until then
	searchedAt time.Duration // when callQueue was last searched for endangered shards
	exceededAt time.Duration // when a call was last made beyond the budget; 0 if never

	// The measurement of the rate.
	calls     int64   // calls since rateSince
	rate      float64 // calls a second, smoothed
	rateSince time.Duration
}

// callShare returns the number of calls a second that this consumer may make. Its share of the budget is its share of
// the shards.
func (c *Coordinator) callShare() float64 {
	own := len(c.assignments)
	all := max(c.table.rows.unended, own)
	if all == 0 {
		return 0
	}
	return float64(c.options.CallsPerMonth) / month.Seconds() * float64(own) / float64(all)
}

// takeCallToken takes a call from the budget, and reports whether the call may be made. If it reports false, a timer
// allows calls again later. An endangered shard is read even if the budget is used up, because lost records are worse
// than a higher bill.
func (c *Coordinator) takeCallToken(a *assignment) bool {
	b := &c.budget
	isUnlimited := c.options.CallsPerMonth == 0 || c.endCheckWaits(a)
	if isUnlimited {
		return true
	}
	isEndangered := c.isEndangered(a)
	if b.timerRuns && !isEndangered {
		return false
	}
	c.refillBudget()
	switch {
	case b.tokens >= 1:
		b.tokens--
		return true
	case isEndangered:
		b.exceededAt = c.now
		c.logOnce("budget", slog.LevelError,
			"the budget of GetRecords calls is too small: records would be lost, so it is passed",
			slog.Int64("calls_per_month", c.options.CallsPerMonth))
		return true
	}
	b.timerRuns = true
	c.after(c.untilNextToken(), func() { b.timerRuns = false })
	return false
}

// refillBudget adds the calls that became allowed since the last refill.
func (c *Coordinator) refillBudget() {
	b := &c.budget
	rate := c.callShare()
	added := rate * (c.now - b.refilledAt).Seconds()
	if !b.started { // the first calls, one for each shard and some more
		b.started = true
		added = minBurst + float64(len(c.assignments))
	}
	b.tokens = min(b.tokens+added, max(minBurst, rate*maxSaved.Seconds()))
	b.refilledAt = c.now
}

// untilNextToken returns the time until the budget allows a call.
func (c *Coordinator) untilNextToken() time.Duration {
	rate := c.callShare()
	if rate == 0 {
		return time.Second
	}
	seconds := (1 - c.budget.tokens) / rate
	return min(time.Hour, time.Duration(seconds*float64(time.Second))+time.Millisecond)
}

// isEndangered reports whether a shard lags by more than a quarter of the retention, so that the stream may soon drop
// unread records.
func (c *Coordinator) isEndangered(a *assignment) bool {
	return a.lag.delay(c.now) > c.options.Retention/4
}

// moveEndangeredFirst moves the first endangered shard to the head of the queue, and reports whether there is one. It
// is called while the budget allows no call. It searches at most once a second.
func (c *Coordinator) moveEndangeredFirst() bool {
	if c.now-c.budget.searchedAt < time.Second {
		return false
	}
	c.budget.searchedAt = c.now
	for i, a := range c.callQueue {
		if c.canCall(a) && c.isEndangered(a) {
			c.callQueue = slices.Insert(slices.Delete(c.callQueue, i, i+1), 0, a)
			return true
		}
	}
	return false
}

// countCall counts a call in the measurement of the rate.
func (b *callBudget) countCall(now time.Duration) {
	b.calls++
	b.updateRate(now)
}

// updateRate adds the calls since rateSince to the smoothed rate, unless less than 10 seconds have passed.
func (b *callBudget) updateRate(now time.Duration) {
	seconds := (now - b.rateSince).Seconds()
	if seconds < 10 {
		return
	}
	rate := float64(b.calls) / seconds
	if b.rate == 0 {
		b.rate = rate
	} else {
		b.rate = b.rate*0.8 + rate*0.2
	}
	b.calls, b.rateSince = 0, now
}

// callsPerMonth returns the number of calls a month at the smoothed rate. Unused calls may be spent in a burst, so the
// rate may be above the budget for a while. Therefore the result is at most this consumer's share of the budget, unless
// a call was made beyond the budget in the last minute.
func (c *Coordinator) callsPerMonth() float64 {
	b := &c.budget
	b.updateRate(c.now)
	calls := b.rate * month.Seconds()
	exceedsBudget := b.exceededAt > 0 && c.now-b.exceededAt < time.Minute
	if c.options.CallsPerMonth == 0 || exceedsBudget {
		return calls
	}
	return min(calls, c.callShare()*month.Seconds())
}
