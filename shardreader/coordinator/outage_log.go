package coordinator

import (
	"log/slog"
	"time"
)

const (
	outageLogEvery = time.Minute // time between two log lines about one outage
	// how long the reads of a shard fail before the failure is reported: throttling often ends sooner
	failingAfter = 10 * time.Second
	failingCalls = 3 // number of failed reads in a row before the failure is reported
)

// outage controls the log lines about a long failure.
type outage struct {
	loggedAt time.Duration // when the last line was logged; 0 if there is no failure
}

// tableOutage is the outage of the lease table.
type tableOutage struct {
	outage
	err error // error of the last call that failed
}

// readOutage is the outage of reads of shards.
type readOutage struct {
	outage
	since         time.Duration // when the failure began
	someRecovered bool          // a failed shard was read again after the last log line
}

// outageLog is what is logged about an outage now.
type outageLog uint8

const (
	logNothing outageLog = iota
	logFailure
	logEnd
)

// update returns what to log now, and counts it as logged. fails reports whether the failure lasts.
func (o *outage) update(now time.Duration, fails bool) outageLog {
	wasLogged := o.loggedAt > 0
	switch {
	case !fails && wasLogged:
		o.loggedAt = 0
		return logEnd
	case fails && (!wasLogged || now-o.loggedAt >= outageLogEvery):
		o.loggedAt = now
		return logFailure
	}
	return logNothing
}

// logTableOutage logs once a minute that the lease table is out of reach, and logs the end of the outage. Heartbeats do
// not show an outage of the lease table, because they are written to another table.
func (c *Coordinator) logTableOutage(s survey) {
	unreadFor := c.tableUnreadFor()
	switch c.tableOutage.update(c.now, s.overdueFor > 0 || unreadFor > 0) {
	case logNothing:
		return
	case logEnd:
		c.tableOutage.err = nil
		c.log(slog.LevelInfo, "the lease table is read and written again")
		return
	}
	var attrs []slog.Attr
	if s.overdueFor > 0 {
		attrs = append(attrs, roundedAttr("unwritten_for", s.overdueFor), slog.Int("shards", s.overdueShards))
	}
	if unreadFor > 0 {
		attrs = append(attrs, roundedAttr("unread_for", unreadFor))
	}
	if c.tableOutage.err != nil {
		attrs = append(attrs, errAttr(c.tableOutage.err))
	}
	c.log(slog.LevelError,
		"the lease table is out of reach: if this consumer ends now, its last records are delivered again", attrs...)
}

func roundedAttr(key string, d time.Duration) slog.Attr {
	return slog.Duration(key, d.Round(time.Second))
}

// tableUnreadFor returns for how long the lease table could not be read. It returns 0 if that time is at most the lease
// time plus two refresh intervals.
func (c *Coordinator) tableUnreadFor() time.Duration {
	if age := c.now - c.refresh.lastSent; c.refresh.succeeded && age > c.options.Lease+2*c.refreshEvery() {
		return age
	}
	return 0
}

// logReadOutage logs once a minute that shards cannot be read, and logs when shards are read again. failing has the
// assignments for which failsForLong is true.
func (c *Coordinator) logReadOutage(failing []*assignment) {
	o := &c.readOutage
	wasLogged := o.loggedAt > 0
	switch o.update(c.now, len(failing) > 0) {
	case logFailure:
		a := failing[0]
		if !wasLogged {
			o.since = a.readFailure.since
		}
		o.someRecovered = false
		c.log(slog.LevelError, "shards cannot be read: calls fail, and are tried again", slog.Int("shards", len(failing)),
			slog.String("first", a.row.Shard), roundedAttr("age", c.now-a.readFailure.since),
			slog.Int("attempts", int(a.failedCalls)), errAttr(a.readFailure.err))
	case logEnd:
		if o.someRecovered { // otherwise the failing shards went to other consumers
			c.log(slog.LevelInfo, "shards are read again", roundedAttr("down", c.now-o.since))
		}
	}
	if len(failing) == 0 {
		o.someRecovered = false
	}
}

// readFailure describes the failed reads of a shard since its last successful read.
type readFailure struct {
	since    time.Duration // when the first read failed; 0 if none failed
	wallTime time.Time     // GetRecordsResult.WallTime of that read
	err      error         // error of the last failed read
}

// failsForLong reports whether the reads of an assignment have failed long enough for logs and heartbeats to report it.
func (a *assignment) failsForLong(now time.Duration) bool {
	f := a.readFailure
	lasts := f.since > 0 && a.failedCalls >= failingCalls && now-f.since >= failingAfter
	return lasts && (a.phase.allowsRequests() || a.phase == suspended)
}

// noteReadFailure notes a failed read of an assignment. wallTime is as in GetRecordsResult.
func (c *Coordinator) noteReadFailure(a *assignment, err error, wallTime time.Time) {
	if a.readFailure.since == 0 {
		a.readFailure.since, a.readFailure.wallTime = c.now, wallTime
	}
	a.readFailure.err = err
}

// noteReadSuccess notes a successful read of an assignment.
func (c *Coordinator) noteReadSuccess(a *assignment) {
	c.readOutage.someRecovered = c.readOutage.someRecovered || a.readFailure.since > 0
	a.readFailure = readFailure{}
}
