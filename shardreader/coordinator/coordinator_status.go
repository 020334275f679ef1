package coordinator

import (
	"cmp"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// maxReported is the maximum number of shards in each of Member.Behind, Member.Failing and Member.BusyShards.
const maxReported = 200

// survey is the state of all assignments, gathered in one pass.
type survey struct {
	load          float64
	pending       int64 // records
	stopped       map[string]string
	behind        []*assignment // assignments that may have unread records
	failing       []*assignment // assignments for which failsForLong is true, the longest failure first
	overdueFor    time.Duration // how long a checkpoint is overdue; 0 if at most Options.Lease + Options.Checkpoint
	overdueShards int           // number of shards whose checkpoint is overdue for longer than that
}

// surveyAssignments returns the state of all assignments.
func (c *Coordinator) surveyAssignments() survey {
	s := survey{stopped: make(map[string]string)}
	for a := range c.allAssignments() {
		s.load += a.load.rate
		s.pending += a.inFlight.recordCount
		if a.stopReason != "" {
			s.stopped[a.row.Shard] = a.stopReason
		}
		if a.mayHaveUnread() || a.stopReason != "" {
			s.behind = append(s.behind, a)
		}
		if a.failsForLong(c.now) {
			s.failing = append(s.failing, a)
		}
		unsavedFor := c.now - a.acked.unsavedSince
		if a.acked.unsavedSince > 0 && unsavedFor > c.options.Lease+c.options.Checkpoint {
			s.overdueFor = max(s.overdueFor, unsavedFor)
			s.overdueShards++
		}
	}
	slices.SortFunc(s.failing, func(x, y *assignment) int {
		return cmp.Or(cmp.Compare(x.readFailure.since, y.readFailure.since), cmp.Compare(x.name, y.name))
	})
	return s
}

// mayHaveUnread reports whether the stream may have records of the shard that are not read yet.
func (a *assignment) mayHaveUnread() bool { return a.lag.behindSince > 0 || !a.start.gotPage }

// member returns the row that a heartbeat of this consumer writes.
func (c *Coordinator) member(s survey) leases.Member {
	ends := c.shardEnds()
	m := leases.Member{
		ID: c.options.ID, Name: c.options.Name, Heartbeat: c.heartbeats.lastNumber, Leaving: !c.isRunning(),
		LeaseCount: len(c.assignments), AtEndHeartbeat: ends.allShards, CallsPerMonth: c.callsPerMonth(), Load: s.load,
		RoutesDigest: c.options.Routes, QuietHeartbeat: ends.quietShards, BusyShards: ends.busyShards,
		Pending: s.pending, Stopped: s.stopped, Behind: make(map[string]time.Time),
		Failing: make(map[string]leases.ReadFailure),
	}
	for shard := range c.table.damaged {
		m.Stopped[shard] = StoppedDamaged
	}
	for shard, u := range c.unbegunShards {
		m.Stopped[shard] = u.reason
	}
	slices.SortStableFunc(s.behind, func(x, y *assignment) int { return x.positionTime.Compare(y.positionTime) })
	for _, a := range s.behind[:min(len(s.behind), maxReported)] {
		m.Behind[a.row.Shard] = a.positionTime
	}
	for _, a := range s.failing[:min(len(s.failing), maxReported)] {
		m.Failing[a.row.Shard] = leases.ReadFailure{Since: a.readFailure.wallTime.UTC(),
			Class: redact.ErrorClass(a.readFailure.err)}
	}
	return m
}

// PartitionStatus is the status of an assignment.
type PartitionStatus struct {
	Name          string // name of the partition
	Shard         string
	Stream        string
	Checkpoint    string    // durable
	LastDelivered time.Time // creation time of the last record delivered; zero if there was none
	LastAcked     time.Time // creation time of the last record that is durable in all sinks
	OldestPending time.Time // creation time of the oldest record delivered and not acknowledged; zero if there is none
	Opened        bool      // a page was received since reading began
	Behind        bool      // there may be records that are not read yet
	Pending       int64     // records delivered and not acknowledged
	Failures      int       // number of failed calls in a row
	FailingSince  time.Time // when the first of these calls failed; zero if there is none
	Error         string    // error of the last of these calls, as in the log

	// LastPageAt is the time of the last page, empty or not, by the coordinator's clock. Before the first page it is
	// the time at which reading began.
	LastPageAt time.Duration

	Paused     bool   // the pipeline requested a pause
	Ended      bool   // the shard was read to its end
	Draining   bool   // the lease is being handed over
	StopReason string // why the shard is read no further; "" if it is read
}

// Status is the status of a consumer, and of the fleet as it sees it.
type Status struct {
	Member               leases.Member
	HeartbeatFresh       bool              // the consumer's heartbeats succeed
	IsLeader             bool              // the consumer leads the fleet: it compares the leases with listings
	TableRead            bool              // the consumer has read the lease table
	LiveConsumers        int               // number of consumers that take leases
	OrphanedLeases       int               // number of leases to read now that have no owner, or whose owner is gone
	UnbegunShards        map[string]int    // number of shards that are not begun, by stream ARN: see StoppedUnbegun
	StreamsListed        bool              // the streams were listed, by this consumer or by another leader
	CheckpointOverdueFor time.Duration     // how long a checkpoint is overdue; 0 if less than about Options.Lease
	TableUnreadFor       time.Duration     // how long the lease table is unread; 0 if less than about Options.Lease
	UnreadReason         string            // why the streams are not read to their ends, if Options.Idle is set
	Partitions           []PartitionStatus // by shard
}

// Status returns the status after the last Step. It changes nothing but the measurement of the rate of calls.
func (c *Coordinator) Status() Status {
	survey := c.surveyAssignments()
	otherLeaderListed := !c.leads() && c.refresh.succeeded && c.table.rows.len() > 0 // it created the leases
	s := Status{
		Member: c.member(survey), HeartbeatFresh: c.heartbeatFresh(), IsLeader: c.leads(), TableRead: c.refresh.succeeded,
		LiveConsumers: len(c.liveConsumers()), UnreadReason: c.unreadReason,
		CheckpointOverdueFor: survey.overdueFor, TableUnreadFor: c.tableUnreadFor(),
		StreamsListed: c.syncs.succeeded || otherLeaderListed, UnbegunShards: make(map[string]int),
	}
	for _, shard := range c.unbegunShards {
		s.UnbegunShards[shard.stream]++
	}
	for _, r := range c.table.rows.all() {
		if c.isActive(r) && (r.Owner == "" || !c.alive(r.Owner)) {
			s.OrphanedLeases++
		}
		if r.assignment != nil {
			s.Partitions = append(s.Partitions, r.assignment.status())
		}
	}
	return s
}

func (a *assignment) status() PartitionStatus {
	r := a.row
	s := PartitionStatus{
		Name: a.name, Shard: r.Shard, Stream: r.Stream, Checkpoint: r.Checkpoint.String(),
		LastDelivered: a.positionTime, LastAcked: a.acked.time, Pending: a.inFlight.recordCount,
		Opened: a.start.gotPage, Behind: a.mayHaveUnread() || a.phase == suspended,
		Failures: int(a.failedCalls), FailingSince: a.readFailure.wallTime, LastPageAt: a.lastPageAt,
		Paused: a.paused, Ended: a.childSearch != nil, Draining: a.phase == draining, StopReason: a.stopReason,
	}
	if len(a.inFlight.pages) > 0 {
		s.OldestPending = a.inFlight.pages[0].oldestTime
	}
	if a.readFailure.err != nil {
		s.Error = redact.LogText(a.readFailure.err)
	}
	return s
}
