package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Report evaluates a look.
func (l Look) Report() Report {
	l.Retention = cmp.Or(l.Retention, 24*time.Hour)
	l.Urgent = cmp.Or(l.Urgent, 4*time.Hour)
	r := Report{Pipeline: l.Pipeline, At: l.At.UTC(), Problems: []Problem{}, Consumers: []Consumer{}, Streams: []Listing{}, Shards: []Shard{}, Gaps: []Gap{}, HeldBack: []HeldBack{}, Sinks: []Sink{}}
	switch {
	case l.Unconfigured != "":
		r.Note = "no consumer is configured: " + l.Unconfigured + " says nothing of leases; what Lambda invokes shows in its own metrics and log"
	case l.NoTable != "" && len(l.Leases.Members) > 0:
		r.lostLeases(&l)
	case l.NoTable != "":
		r.problem(NoConsumers, l.Pipeline, "start `"+l.command("consume")+" --create`; where a function carries the changes, take leases out of the file",
			"no consumer has begun: there is no lease table %s", l.NoTable)
	}
	for _, lost := range l.Lost {
		r.problem(LostStore, lost.Sink, "`"+l.command("adopt")+" --sink "+lost.Sink+"` shows what is there, and what can be done; no consumer starts before", "sink %s: %s", lost.Sink, lost.What)
	}
	for _, u := range l.Unknown {
		r.problem(NotLookedAt, u.What, "it is unknown, so look again once the store answers", "%s could not be looked at: %v", u.What, u.Err)
	}
	for _, m := range l.Leases.Members {
		r.consumer(&l, m)
	}
	r.heldBack(&l)
	r.sinks(&l)
	for _, s := range l.Streams {
		r.listing(s)
	}
	t := treeOf(&l)
	l.unreadBefore = unreadBefore(l.Streams, t)
	for _, b := range l.Leases.Broken {
		r.problem(BrokenLease, b.Shard, "restore the row, or set by hand what is wrong with it; its checkpoint is where the shard was read to, by a status or a log of before. Nobody reads the shard until then; deleting the row loses what was not read of it",
			"the lease of %s cannot be read: %s", b.Shard, b.Why)
	}
	unread := false                // a shard is unread that a consumer would read
	stuck := make(map[string]bool) // stopped shards, those that wait for one, and the streams of both
	for _, n := range t.sorted() {
		s := r.shard(&l, t, n)
		behindStuck := slices.ContainsFunc(s.Parents, func(p string) bool { return stuck[p] }) || stuck[l.unreadBefore[n.stream]]
		if stuck[s.ID] = s.State == Stopped || s.State == Waiting && behindStuck; stuck[s.ID] {
			stuck[n.stream] = true
		}
		unread = unread || s.State != Done && !stuck[s.ID]
		r.Shards = append(r.Shards, s)
	}
	for _, g := range l.Gaps {
		r.Gaps = append(r.Gaps, gapOf(g, l.Retention))
	}
	reads := slices.ContainsFunc(r.Consumers, func(c Consumer) bool { return c.Alive })
	switch {
	case reads:
	case unread:
		r.Problems = slices.DeleteFunc(r.Problems, func(p Problem) bool { return p.Kind == NoOwner }) // no shard has a live owner: one problem is enough
		r.problem(NoConsumers, l.Pipeline, "start `"+l.command("consume")+"`, or look why it stopped", "no consumer reads: %d shards wait", r.waiting())
	case len(l.Streams) == 0 && l.Unconfigured == "" && l.NoTable == "" && len(r.Problems) == 0:
		r.problem(NoConsumers, l.Pipeline, "look without --no-stream, or start `"+l.command("consume")+"`", "no consumer reads, and whether there is something to read is unknown: the stream was not looked at")
	}
	slices.SortStableFunc(r.Problems, func(a, b Problem) int { return cmp.Compare(rank(a.Kind), rank(b.Kind)) })
	r.Healthy = len(r.Problems) == 0
	return r
}

// rank orders problems: those that lose records are first.
func rank(k ProblemKind) int {
	return slices.Index([]ProblemKind{Breach, LostLeases, LostStore, LossNear, FailingShard, FailingSink, DeadLetters, BrokenLease, StoppedShard, NoConsumers, SilentMember, NoOwner, NotListed, NotLookedAt}, k)
}

func (r *Report) problem(kind ProblemKind, subject, hint, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{Kind: kind, Subject: subject, Text: fmt.Sprintf(format, args...), Hint: hint})
}

// lostLeases adds the problem that the lease table is gone although consumers used it.
func (r *Report) lostLeases(l *Look) {
	alive := 0
	for _, m := range l.Leases.Members {
		if _, silent := l.Silent[m.Worker]; !silent {
			alive++
		}
	}
	who := "consumers had it, and none of them lives"
	if alive > 0 {
		who = fmt.Sprintf("%d consumers live, and cannot write their checkpoints", alive)
	}
	r.problem(LostLeases, l.Pipeline, "restore the table under its name if there is a copy. `"+l.command("consume")+" --create` makes an empty one: the stream is then read from source.start, and archives and notifications get again what they have",
		"the lease table %s is gone: %s", l.NoTable, who)
}

// waiting counts the shards that a consumer could read.
func (r *Report) waiting() (n int) {
	for _, s := range r.Shards {
		if s.State == Unowned || s.State == Unclaimed {
			n++
		}
	}
	return n
}

func (r *Report) consumer(l *Look, m leases.Member) {
	silent, is := l.Silent[m.Worker]
	gone := is && !slices.ContainsFunc(l.Leases.Leases, func(lease leases.Lease) bool { return lease.Owner == m.Worker && !lease.Ended() })
	r.Consumers = append(r.Consumers, Consumer{
		Worker: m.Worker, Name: cmp.Or(m.Name, m.Worker), Alive: !is, SilentSeconds: silent.Seconds(), Gone: gone, Leaving: m.Leaving,
		Shards: m.Leases, Behind: len(m.Behind), Pending: m.Pending, BytesASecond: m.Load, CallsAMonth: m.Calls,
	})
	if is && !gone {
		r.problem(SilentMember, m.Worker, "others take its shards; if it still runs, look at its log: it cannot reach the state table, or hangs",
			"consumer %s shows no sign of life: its beat stood still for %s", m.Worker, Age(silent))
	}
}

func (r *Report) listing(s Stream) {
	of := Listing{ARN: s.ARN, Status: s.Status, Shards: len(s.Shards)}
	if s.Err != nil {
		of.Error = s.Err.Error()
		r.problem(NotListed, s.ARN, "what follows is made of the leases alone", "the stream cannot be listed: %v", s.Err)
	}
	r.Streams = append(r.Streams, of)
}

// shard reports one shard, and adds its problems.
func (r *Report) shard(l *Look, t tree, n *node) Shard {
	s := Shard{ID: n.id, Stream: n.stream, Parents: append([]string{}, n.parents...), Children: append([]string{}, n.children...), Listed: n.listed != nil}
	s.Open = n.listed != nil && n.listed.Open() && len(n.children) == 0
	if n.lease != nil {
		s.Owner, s.Pinned, s.Wanted = n.lease.Owner, n.lease.Pinned, n.lease.RequestedBy
		s.Checkpoint, s.Counter = n.lease.Checkpoint.String(), n.lease.Counter
		if !n.lease.Time.IsZero() {
			at, age := n.lease.Time.UTC(), max(l.At.Sub(n.lease.Time), 0).Seconds()
			s.LastRecord, s.AgeSeconds = &at, &age
		}
	}
	owner, member := l.member(s.Owner)
	if member {
		s.Name = cmp.Or(owner.Name, owner.Worker)
	}
	s.State, s.Why = l.state(t, n)
	if s.State == Reading {
		last, behind := owner.Behind[n.id]
		failing, fails := owner.Failing[n.id]
		if fails {
			age := max(l.At.Sub(failing.Since), 0).Seconds()
			s.FailingFor, s.Failing = &age, failing.Class
		} else {
			s.Behind = &behind
		}
		switch alone := owner.Leases == 1; {
		case fails && !behind:
			s.lossIn(l, failing.Since) // records from before the failures are read
		case behind:
			s.lossIn(l, last)
		case owner.Pending == 0 || alone: // else it is unknown which shard they belong to
			s.Records = &owner.Pending
			if owner.Pending > 0 {
				s.lossIn(l, n.lease.Time)
			}
		}
	} else if s.State != Done && s.State != Waiting && n.lease != nil && !n.readWhole() {
		s.lossIn(l, later(n.lease.Time, n.lease.From))
	}
	r.judge(l, t, n, &s)
	return s
}

// judge adds the problems of a shard.
func (r *Report) judge(l *Look, t tree, n *node, s *Shard) {
	if below := t.breach(n); below != nil {
		r.problem(Breach, n.id, "stop the consumers and reset the lease that is wrong: "+l.command("leases list"),
			"shard %s is not read to its end, and its child %s was begun", n.id, below.id)
	}
	switch {
	case n.broken != "": // Report has added this problem
	case s.State == Stopped:
		r.problem(StoppedShard, n.id, l.wayOn(n.id, s.Why), "shard %s is read no further: %s", n.id, s.Why)
	case s.FailingFor != nil:
		r.problem(FailingShard, n.id, "the log of the consumer has the error: look at the stream, the network and the rights; it is tried again by itself, and nothing is lost while the stream has it",
			"shard %s cannot be read for %s: all calls fail (%s)", n.id, Age(seconds(*s.FailingFor)), cmp.Or(s.Failing, "unknown"))
	case s.State == Unowned || s.State == Unclaimed:
		r.problem(NoOwner, n.id, "a consumer takes it within seconds; if none does, look at their logs", "shard %s is read by nobody: %s", n.id, s.Why)
	}
	if s.LossIn == nil || *s.LossIn >= l.Urgent.Seconds() {
		return
	}
	left := "records of shard %s that are not read yet are lost in %s, at the earliest"
	if *s.LossIn <= 0 {
		left = "records of shard %s may be lost already: the last one read is %s older than what the stream keeps"
	}
	in := time.Duration(*s.LossIn * float64(time.Second)).Abs()
	r.problem(LossNear, n.id, "add consumers, or find what holds the sinks up", left, n.id, Age(in))
}

// command returns a command line for this pipeline.
func (l *Look) command(of string) string { return strings.TrimSuffix("tablewake "+of+" "+l.Flags, " ") }

// wayOn returns what to do about a stopped shard.
func (l *Look) wayOn(shard, why string) string {
	reset := l.command("leases reset") + " " + shard + " --to "
	switch why {
	case coordinator.StoppedGone:
		return reset + "end --skip goes on with its children"
	case coordinator.StoppedBroken:
		return "it goes on by itself once the row is repaired"
	case coordinator.StoppedBelow, coordinator.StoppedContrary:
		return "versions cannot be trusted there: hold the views against the table before anything is reset"
	}
	return reset + "trim_horizon goes on behind what is lost"
}

// state returns the state of a shard, and the reason for it.
func (l *Look) state(t tree, n *node) (State, string) {
	if t.done(n) {
		return Done, ""
	}
	if n.broken != "" {
		return Stopped, "its lease cannot be read"
	}
	for _, m := range l.Leases.Members {
		if why, ok := m.Stopped[n.id]; ok {
			return Stopped, why
		}
	}
	if n.lease != nil && n.lease.Stopped != "" && n.lease.Stopped != coordinator.PassedGap {
		return Stopped, n.lease.Stopped // known even if its consumer is gone
	}
	if p := t.waitsFor(n); p != nil {
		return Waiting, "for the end of " + p.id
	}
	if n.lease == nil && slices.ContainsFunc(l.Gaps, func(g record.Gap) bool { return g.UnknownExtent && !g.Whole && g.Shard == n.id }) {
		return Stopped, coordinator.StoppedUnbegun
	}
	if n.lease == nil && t.below(n) {
		return Stopped, coordinator.StoppedBelow
	}
	if n.lease == nil && l.between(n.stream) {
		return Stopped, coordinator.StoppedBetween
	}
	if before := l.unreadBefore[n.stream]; n.lease == nil && before != "" {
		return Waiting, "for the end of the stream " + before
	}
	if n.lease == nil {
		return Unclaimed, "there is no lease of it"
	}
	_, member := l.member(n.lease.Owner)
	silent, is := l.Silent[n.lease.Owner]
	switch {
	case n.lease.Owner == "":
		return Unowned, "its lease is free"
	case !member:
		return Unowned, "its owner " + n.lease.Owner + " is no consumer of this pipeline, or is gone"
	case is:
		return Unowned, fmt.Sprintf("its owner %s shows no sign of life since %s", n.lease.Owner, Age(silent))
	}
	return Reading, ""
}

// between reports whether a stream is unbegun because of the gap between it and the stream before it.
func (l *Look) between(stream string) bool {
	return slices.ContainsFunc(l.Gaps, func(g record.Gap) bool { return g.Shard == "" && g.StreamARN == stream }) &&
		!slices.ContainsFunc(l.Leases.Leases, func(lease leases.Lease) bool { return lease.Stream == stream })
}

// unreadBefore returns, for each listed stream, the oldest stream of its table before it that is not read to its
// end. A stream without one is left out.
func unreadBefore(streams []Stream, t tree) map[string]string {
	byAge := slices.SortedFunc(slices.Values(streams), func(a, b Stream) int { return strings.Compare(a.ARN, b.ARN) })
	oldest, before := make(map[string]string), make(map[string]string) // by table, by stream
	for _, s := range byAge {
		table, _, _ := strings.Cut(s.ARN, "/stream/")
		switch {
		case oldest[table] != "":
			before[s.ARN] = oldest[table]
		case slices.ContainsFunc(s.Shards, func(shard shardreader.Shard) bool { return !t.done(t[shard.ID]) }):
			oldest[table] = s.ARN
		}
	}
	return before
}

func (l *Look) member(worker string) (leases.Member, bool) {
	for _, m := range l.Leases.Members {
		if m.Worker == worker && worker != "" {
			return m, true
		}
	}
	return leases.Member{}, false
}

// lossIn sets when the stream drops the records written after last.
func (s *Shard) lossIn(l *Look, last time.Time) {
	if last.IsZero() {
		return
	}
	in := (l.Retention - l.At.Sub(last)).Seconds()
	s.LossIn = &in
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// gapOf returns a gap with the time span of the lost writes.
func gapOf(g record.Gap, retention time.Duration) Gap {
	out := Gap{
		Stream: g.StreamARN, Shard: g.Shard, After: g.After, Before: g.Before, Whole: g.Whole, UnknownExtent: g.UnknownExtent,
		From: cli.OptionalTime(g.From.UTC()), To: cli.OptionalTime(g.To.UTC()), Found: cli.OptionalTime(g.Found.UTC()),
	}
	if g.To.IsZero() && !g.Found.IsZero() { // the stream still had the records within its retention
		g.To = g.Found.Add(-retention)
	}
	if !g.From.IsZero() && !g.To.IsZero() && !g.UnknownExtent {
		lost := int64(g.Span() / time.Second)
		out.LostSeconds = &lost
	}
	return out
}
