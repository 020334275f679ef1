package leasestest

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

func emptyTable(t *testing.T, table leases.Table) {
	if s := read(t, table); len(s.Leases) != 0 || len(s.Members) != 0 {
		t.Errorf("a new table holds %+v", s)
	}
}

func leasesComeBack(t *testing.T, table leases.Table) {
	want := fullLease("shard-1")
	checkLease(t, "a full lease", create(t, table, want), want)
	want = leases.Lease{Shard: "shard-2"}
	checkLease(t, "an empty lease", create(t, table, want), want)

	// Fractions of seconds and duplicates may be lost, nothing else.
	want = fullLease("shard-3")
	want.From = want.From.Add(987654321 * time.Nanosecond).In(time.FixedZone("", 3600))
	slices.Reverse(want.Parents)
	want.Parents = append(want.Parents, want.Parents[0])
	got := create(t, table, want)
	checkLease(t, "a lease in disorder", got, want)
	if got.From.Nanosecond() != 0 || got.From.Location() != time.UTC || !slices.IsSorted(got.Parents) {
		t.Errorf("a lease is read as %+v", got)
	}
}

func checkpointKindsComeBack(t *testing.T, table leases.Table) {
	for i, c := range []leases.Checkpoint{
		{},
		{Kind: leases.Latest},
		{Kind: leases.AtTime},
		leases.After("0"),
		leases.After("4800000000012345678901"),
		{Kind: leases.Sequence, Sequence: "1234567890123456789012345678901234567890", Sub: 1 << 40},
		{Kind: leases.ShardEnd},
	} {
		want := leases.Lease{Shard: fmt.Sprint("shard-", i), Counter: 1, Checkpoint: c}
		got := create(t, table, want)
		checkLease(t, "a lease at "+c.String(), got, want)
		// The checkpoint moves to the end.
		next := got
		next.Checkpoint, next.Counter = leases.Checkpoint{Kind: leases.ShardEnd}, 2
		checkLease(t, "a lease that ended", swap(t, table, got, next), next)
		// The checkpoint moves back.
		end := next
		next.Checkpoint, next.Counter = c, 3
		checkLease(t, "a lease that was reset", swap(t, table, end, next), next)
	}
}

func snapshotsAreInOrder(t *testing.T, table leases.Table) {
	var want []string
	for i := range 30 {
		name := fmt.Sprintf("shard-%d", (i*7)%30)
		want = append(want, name)
		requireNoError(t, table.Create(t.Context(), leases.Lease{Shard: name}))
		requireNoError(t, table.Heartbeat(t.Context(), leases.Member{ID: name}))
	}
	slices.Sort(want)
	s := read(t, table)
	var shards, members []string
	for _, l := range s.Leases {
		shards = append(shards, l.Shard)
	}
	for _, m := range s.Members {
		members = append(members, m.ID)
	}
	if !slices.Equal(shards, want) || !slices.Equal(members, want) {
		t.Errorf("a snapshot has the leases %v and the members %v", shards, members)
	}
}

// swapWritesDifference checks that a Swap writes only differences, so that the changes of other writers stay.
func swapWritesDifference(t *testing.T, table leases.Table) {
	a := create(t, table, leases.Lease{Shard: "s", Owner: "a", Counter: 3, First: "1"})
	wanted := a
	wanted.RequestedBy, wanted.Pinned = "b", "p"
	swap(t, table, a, wanted) // this keeps the counter, so a's next checkpoint succeeds
	moved := a
	moved.Checkpoint, moved.Counter, moved.Load = leases.After("10"), 4, 5
	got := swap(t, table, a, moved)
	want := moved
	want.RequestedBy, want.Pinned = "b", "p"
	checkLease(t, "after two writers", got, want)
}

func swapClears(t *testing.T, table leases.Table) {
	old := create(t, table, fullLease("s"))
	next := leases.Lease{Shard: "s", Opaque: old.Opaque, Counter: old.Counter + 1}
	got := swap(t, table, old, next)
	checkLease(t, "a lease that was emptied", got, next)
	back := fullLease("s")
	back.Opaque, back.Counter = old.Opaque, got.Counter+1
	back.Children = []string{"s-2", "s-1"}
	checkLease(t, "a lease that was filled", swap(t, table, got, back), back)
}

func switchesAreCounted(t *testing.T, table leases.Table) {
	l := create(t, table, leases.Lease{Shard: "s"})
	for _, step := range []struct {
		owner    string
		sequence string
		want     int64
	}{
		{"a", "", 0}, // from a free lease
		{"b", "", 1},
		{"c", "", 2},
		{"c", "1", 0},
		{"a", "1", 1},
		{"", "1", 1},
		{"b", "1", 1},
		{"b", "2", 0},
	} {
		next := l
		next.Owner, next.Counter, next.Switches = step.owner, l.Counter+1, 99
		if step.sequence != "" {
			next.Checkpoint = leases.After(step.sequence)
		}
		got := swap(t, table, l, next)
		next.Switches = step.want
		checkLease(t, "after "+step.owner+" "+step.sequence, got, next)
		l = got
	}
}

// stopsBelongToCheckpoint checks that a stop stays with its checkpoint, whoever owns the lease, until the stop is
// replaced or cleared.
func stopsBelongToCheckpoint(t *testing.T, table leases.Table) {
	l := create(t, table, leases.Lease{Shard: "s", Owner: "a", Counter: 1, Checkpoint: leases.After("10")})
	step := func(what string, change func(*leases.Lease)) {
		t.Helper()
		next := l
		change(&next)
		next.Counter++
		l = swap(t, table, l, next)
		checkLease(t, what, l, next)
	}
	step("a shard that stopped", func(l *leases.Lease) { l.Stopped = "records were lost: \"x\" y" })
	step("a stopped one let go", func(l *leases.Lease) { l.Owner = "" })
	step("a stopped one taken", func(l *leases.Lease) { l.Owner = "b" })
	step("a stop of another reason", func(l *leases.Lease) { l.Stopped = "why" })
	step("a stop and a checkpoint", func(l *leases.Lease) { l.Checkpoint = leases.After("11") })
	step("a checkpoint without the stop", func(l *leases.Lease) { l.Checkpoint, l.Stopped = leases.Checkpoint{}, "" })
}

func membersComeBack(t *testing.T, table leases.Table) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 891, time.FixedZone("", 7200))
	want := leases.Member{
		ID: "host/1#~%é", Name: "host 1", Heartbeat: 1 << 40, Leaving: true, LeaseCount: 10000, Load: 12345.678,
		CallsPerMonth: 2.63e6, Pending: 1 << 50, AtEndHeartbeat: 1 << 39, RoutesDigest: "0123456789abcdef", QuietHeartbeat: 1 << 38,
		BusyShards: []string{"shardId-1", "shardId-2"},
		Behind:     map[string]time.Time{"shard-1": at, "shard-2": at.Add(time.Minute), "shard-3": {}},
		Stopped:    map[string]string{"shard-4": "records were lost: \"x\"", "shard-5": ""},
		Failing:    map[string]leases.ReadFailure{"shard-1": {Since: at, Class: "timeout"}, "shard-6": {Since: at}},
	}
	for _, m := range []leases.Member{want, {ID: "idle"}} {
		requireNoError(t, table.Heartbeat(t.Context(), m))
	}
	s := read(t, table)
	if len(s.Members) != 2 || !s.Members[0].Equal(want) || !s.Members[1].Equal(leases.Member{ID: "idle"}) {
		t.Errorf("members come back as\n%+v, want\n%+v", s.Members, want)
	}
}

// heartbeatReplacesRow checks that a heartbeat replaces the whole row of its member, and no other row.
func heartbeatReplacesRow(t *testing.T, table leases.Table) {
	beat := func(m leases.Member) { requireNoError(t, table.Heartbeat(t.Context(), m)) }
	leave := func(consumer string) { requireNoError(t, table.RemoveMember(t.Context(), consumer)) }
	expect := func(want ...leases.Member) {
		t.Helper()
		if got := read(t, table).Members; !slices.EqualFunc(got, want, leases.Member.Equal) {
			t.Errorf("members %+v, want %+v", got, want)
		}
	}
	a := leases.Member{ID: "a", Name: "n", Heartbeat: 1, Leaving: true, LeaseCount: 2,
		Stopped: map[string]string{"s": "why"}}
	b := leases.Member{ID: "b", Heartbeat: 1}
	beat(a)
	beat(b)
	expect(a, b)
	a = leases.Member{ID: "a", Heartbeat: 2}
	beat(a)
	expect(a, b)
	leave("a")
	expect(b)
	leave("a")
	leave("nobody")
	beat(a) // a member that others believed dead
	expect(a, b)
}

// oddNumbersAreStored checks that infinite, tiny and undefined loads are stored without an error.
func oddNumbersAreStored(t *testing.T, table leases.Table) {
	for i, f := range []float64{1e-200, 5e-324, math.Inf(1), math.NaN(), 1e300, 0.1, 1e-9} {
		l := leases.Lease{Shard: fmt.Sprint("s", i), Load: f}
		got := create(t, table, l)
		checkLease(t, fmt.Sprint("a lease of load ", f), got, l)
		next := got
		next.Load, next.Counter = 1/f, 1
		checkLease(t, fmt.Sprint("a lease of load ", 1/f), swap(t, table, got, next), next)
		requireNoError(t, table.Heartbeat(t.Context(), leases.Member{ID: l.Shard, Load: f, CallsPerMonth: 1 / f}))
	}
}

// begunStreamsStay checks that the mark of a begun stream survives changes of leases and members.
func begunStreamsStay(t *testing.T, table leases.Table) {
	one, two := "arn:aws:dynamodb:eu-central-1:123456789012:table/a/stream/1",
		"arn:aws:dynamodb:eu-central-1:123456789012:table/a/stream/2"
	if s := read(t, table); len(s.BegunStreams) > 0 {
		t.Fatalf("an empty table says that %v was begun", s.BegunStreams)
	}
	l := create(t, table, leases.Lease{Shard: "s", Stream: one})
	for _, stream := range []string{two, one, two} {
		requireNoError(t, table.MarkBegun(t.Context(), stream))
	}
	requireNoError(t, table.Delete(t.Context(), l))
	requireNoError(t, table.Heartbeat(t.Context(), leases.Member{ID: "w", Heartbeat: 1}))
	s := read(t, table)
	if !slices.Equal(s.BegunStreams, []string{one, two}) || len(s.Members) != 1 || len(s.Leases) != 0 {
		t.Errorf("snapshot %+v", s)
	}
	if err := table.MarkBegun(t.Context(), ""); err == nil {
		t.Error("a stream without a name can be begun")
	}
}
