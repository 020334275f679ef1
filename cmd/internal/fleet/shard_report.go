package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/state"
)

// newShard returns the report of one shard, and adds the problems of the shard to r.
func (r *Report) newShard(obs *Observation, t tree, n *node) Shard {
	s := Shard{ID: n.id, Stream: n.stream, Parents: append([]string{}, n.parents...),
		Children: append([]string{}, n.children...), Listed: n.description != nil}
	s.Open = n.description != nil && n.description.Open() && len(n.children) == 0
	if n.lease != nil {
		s.setLease(n.lease, obs.At)
	}
	owner, isMember := obs.findMember(s.Owner)
	if isMember {
		s.Name = cmp.Or(owner.Name, owner.ID)
	}
	s.State, s.StopReason = obs.shardState(t, n)
	waitsForParent := t.unfinishedParent(n) != nil
	s.AfterStream = s.State == Waiting && !waitsForParent

	switch s.State {
	case Reading:
		s.setUnread(obs, n, owner)
	case Stopped, Unowned, Unclaimed:
		if n.lease != nil && !n.readToLast() {
			readUntil := slices.MaxFunc([]time.Time{n.lease.Time, n.lease.From}, time.Time.Compare)
			s.setLossIn(obs, readUntil)
		}
	}
	r.addShardProblems(obs, t, n, &s)
	return s
}

// setLease sets what a lease shows at a time.
func (s *Shard) setLease(l *leases.Lease, at time.Time) {
	s.Owner, s.Pinned, s.RequestedBy = l.Owner, l.Pinned, l.RequestedBy
	s.Checkpoint, s.Counter = l.Checkpoint.String(), l.Counter
	if !l.Time.IsZero() {
		s.LastRecord, s.AgeSeconds = new(l.Time.UTC()), new(max(at.Sub(l.Time), 0).Seconds())
	}
}

// setUnread sets the known facts about the unread records of a shard that owner reads.
func (s *Shard) setUnread(obs *Observation, n *node, owner leases.Member) {
	lastRecord, isBehind := owner.Behind[n.id]
	failing, isFailing := owner.Failing[n.id]
	if isFailing {
		s.FailingSeconds, s.ErrorClass = new(max(obs.At.Sub(failing.Since), 0).Seconds()), failing.Class
	} else {
		s.Behind = &isBehind
	}

	ownsOnlyThis := owner.LeaseCount == 1 // otherwise it is unknown to which shard the pending records belong
	switch {
	case isBehind:
		s.setLossIn(obs, lastRecord)
	case isFailing:
		s.setLossIn(obs, failing.Since) // the records from before the failures were read
	case owner.Pending == 0:
		s.Records = &owner.Pending
	case ownsOnlyThis:
		s.Records = &owner.Pending
		s.setLossIn(obs, n.lease.Time)
	}
}

// addShardProblems adds the problems of a shard.
func (r *Report) addShardProblems(obs *Observation, t tree, n *node, s *Shard) {
	if earlyChild := t.childReadTooEarly(n); earlyChild != nil {
		r.addProblem(LineageBreach, n.id, "stop the consumers and reset the lease that is wrong: `"+obs.command("leases list")+"`",
			"shard %s is not read to its end, and its child %s was begun", n.id, earlyChild.id)
	}
	switch {
	case n.brokenReason != "": // addShards has added this problem
	case s.State == Stopped:
		r.addProblem(StoppedShard, n.id, obs.stoppedHint(n.id, s.StopReason), "shard %s is read no further: %s", n.id, s.StopReason)
	case s.FailingSeconds != nil:
		r.addProblem(FailingShard, n.id,
			"the log of the consumer has the error: look at the stream, the network and the rights; it is tried again by itself, and nothing is lost while the stream has it",
			"shard %s cannot be read for %s: all calls fail (%s)", n.id, FormatAge(seconds(*s.FailingSeconds)),
			cmp.Or(s.ErrorClass, "unknown"))
	case s.State == Unowned || s.State == Unclaimed:
		r.addProblem(NoOwner, n.id, "a consumer takes it within seconds; if none does, look at their logs",
			"shard %s is read by nobody: %s", n.id, s.StopReason)
	}
	if !r.LossIsNear(s.LossInSeconds) {
		return
	}
	format := "records of shard %s that are not read yet are lost in %s, at the earliest"
	if *s.LossInSeconds <= 0 {
		format = "records of shard %s may be lost already: the last one read is %s older than what the stream keeps"
	}
	r.addProblem(LossNear, n.id, "add consumers, or find what holds the sinks up", format, n.id,
		FormatAge(seconds(*s.LossInSeconds).Abs()))
}

// command returns a command line for this pipeline.
func (obs *Observation) command(name string) string {
	return strings.TrimSuffix("tablewake "+name+" "+obs.Flags, " ")
}

// stoppedHint returns the hint for a shard that is stopped for the given reason.
func (obs *Observation) stoppedHint(shard, reason string) string {
	reset := "`" + obs.command("leases reset") + " " + shard + " --to "
	switch reason {
	case coordinator.StoppedGone:
		return reset + "end --skip` continues with its children"
	case coordinator.StoppedDamaged:
		return "it continues by itself once the row is repaired"
	case coordinator.StoppedChildBelowParent, coordinator.StoppedSequenceBelowStart:
		return "versions cannot be trusted there: compare the views with the table before you reset anything"
	}
	return reset + "trim_horizon` continues after what is lost"
}

// shardState returns the state of a shard, and the reason of the state. The reason is "" for Done and Reading. The
// first condition that holds decides.
func (obs *Observation) shardState(t tree, n *node) (State, string) {
	if t.isDone(n) {
		return Done, ""
	}
	if n.brokenReason != "" {
		return Stopped, "its lease cannot be read"
	}
	for _, m := range obs.Leases.Members {
		_, silent := obs.Silent[m.ID]
		isAnothers := silent && n.lease != nil && n.lease.Owner != m.ID
		if reason, stopped := m.Stopped[n.id]; stopped && !isAnothers {
			return Stopped, reason
		}
	}
	leaseSaysStopped := n.lease != nil && n.lease.Stopped != "" && n.lease.Stopped != coordinator.PassedGap
	if leaseSaysStopped { // its consumer may be gone
		return Stopped, n.lease.Stopped
	}
	if p := t.unfinishedParent(n); p != nil {
		return Waiting, "for the end of " + p.id
	}
	if n.lease == nil {
		return obs.unleasedState(t, n)
	}
	_, isMember := obs.findMember(n.lease.Owner)
	silence, silent := obs.Silent[n.lease.Owner]
	switch {
	case n.lease.Owner == "":
		return Unowned, "its lease is free"
	case !isMember:
		return Unowned, "its owner " + n.lease.Owner + " is no consumer of this pipeline, or is gone"
	case silent:
		return Unowned, fmt.Sprintf("its owner %s has sent no heartbeat for %s", n.lease.Owner, FormatAge(silence))
	}
	return Reading, ""
}

// unleasedState is [Observation.shardState] for a shard without a lease whose parents are done.
func (obs *Observation) unleasedState(t tree, n *node) (State, string) {
	isUnbegun := func(g state.NotedGap) bool { return g.UnknownExtent && !g.Whole && g.Shard == n.id }
	unreadStream := obs.unreadBefore[n.stream]
	switch {
	case slices.ContainsFunc(obs.Gaps, isUnbegun):
		return Stopped, coordinator.StoppedUnbegun
	case t.startsBelowParent(n):
		return Stopped, coordinator.StoppedChildBelowParent
	case obs.isAfterGap(n.stream):
		return Stopped, coordinator.StoppedBetweenStreams
	case unreadStream != "":
		return Waiting, "for the end of the stream " + unreadStream
	}
	return Unclaimed, "there is no lease of it"
}

// isAfterGap reports whether a stream has no leases because of a gap between it and the stream before it.
func (obs *Observation) isAfterGap(stream string) bool {
	isBefore := func(g state.NotedGap) bool { return g.Shard == "" && g.StreamARN == stream }
	isOfStream := func(lease leases.Lease) bool { return lease.Stream == stream }
	return slices.ContainsFunc(obs.Gaps, isBefore) && !slices.ContainsFunc(obs.Leases.Leases, isOfStream)
}

// unreadPredecessors returns, for each listed stream, the oldest earlier stream of its table that is not read to its
// end. It leaves out a stream if all earlier streams of its table are read to their end.
func unreadPredecessors(streams []Stream, t tree) map[string]string {
	byAge := slices.SortedFunc(slices.Values(streams), func(a, b Stream) int { return strings.Compare(a.ARN, b.ARN) })
	isUnread := func(shard shardreader.Shard) bool { return !t.isDone(t[shard.ID]) }
	oldestUnread := make(map[string]string) // by table
	predecessors := make(map[string]string) // by stream
	for _, s := range byAge {
		table, _, _ := strings.Cut(s.ARN, "/stream/")
		switch {
		case oldestUnread[table] != "":
			predecessors[s.ARN] = oldestUnread[table]
		case slices.ContainsFunc(s.Shards, isUnread):
			oldestUnread[table] = s.ARN
		}
	}
	return predecessors
}

// findMember returns the consumer with an id. isMember is false if there is none, or if id is "".
func (obs *Observation) findMember(id string) (m leases.Member, isMember bool) {
	i := slices.IndexFunc(obs.Leases.Members, func(m leases.Member) bool { return m.ID == id })
	if id == "" || i < 0 {
		return leases.Member{}, false
	}
	return obs.Leases.Members[i], true
}

// setLossIn sets LossInSeconds, the time until the stream drops the first record written after last. It does nothing if
// last is zero.
func (s *Shard) setLossIn(obs *Observation, last time.Time) {
	if !last.IsZero() {
		s.LossInSeconds = new((obs.Retention - obs.At.Sub(last)).Seconds())
	}
}
