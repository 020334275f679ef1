package leasestest

import (
	"context"
	"testing"

	"github.com/tablewake/tablewake/shardreader/leases"
)

func createOnce(t *testing.T, table leases.Table) {
	first := create(t, table, fullLease("s"))
	again := requireConflict(t, table.Create(t.Context(), leases.Lease{Shard: "s", Owner: "z"}))
	checkLease(t, "what is in the way", again.Current, first)
	if again.Missing || again.AlreadyWritten(leases.Lease{Shard: "s", Owner: "z"}) || !again.AlreadyWritten(fullLease("s")) {
		t.Errorf("%+v", again)
	}
	checkLease(t, "the lease", readLease(t, table, "s"), first)
}

// swapIsConditional checks that a Swap succeeds only if the row has the owner and counter that the caller knows.
func swapIsConditional(t *testing.T, table leases.Table) {
	stored := create(t, table, leases.Lease{Shard: "s", Owner: "a", Counter: 5, Checkpoint: leases.After("10")})
	create(t, table, leases.Lease{Shard: "r", Owner: "a", Counter: 5})
	for _, old := range []leases.Lease{
		{Shard: "s", Owner: "b", Counter: 5},
		{Shard: "s", Owner: "", Counter: 5},
		{Shard: "s", Owner: "a", Counter: 4},
		{Shard: "s", Owner: "a", Counter: 6},
		{Shard: "s"},
	} {
		old.Opaque, old.Checkpoint = stored.Opaque, stored.Checkpoint
		next := old
		next.Owner, next.Counter, next.Checkpoint = "z", 7, leases.After("99")
		c := requireConflict(t, table.Swap(t.Context(), old, next))
		checkLease(t, "what is in the way", c.Current, stored)
		if c.Missing || c.AlreadyWritten(next) {
			t.Errorf("%+v", c)
		}
	}
	checkLease(t, "the lease", readLease(t, table, "s"), stored)

	// The checkpoint is not part of the condition.
	old := stored
	old.Checkpoint = leases.After("9")
	next := old
	next.Owner, next.Counter = "", 6
	got := swap(t, table, old, next)
	next.Checkpoint = stored.Checkpoint
	checkLease(t, "a lease that was released", got, next)

	// A condition with an owner fails on a free lease.
	old = got
	old.Owner = "a"
	checkLease(t, "what is in the way", requireConflict(t, table.Swap(t.Context(), old, next)).Current, got)
	next = got
	next.Owner, next.Counter = "b", 7
	checkLease(t, "a lease that was taken", swap(t, table, got, next), next)
	checkLease(t, "another lease", readLease(t, table, "r"), leases.Lease{Shard: "r", Owner: "a", Counter: 5})

	gone := requireConflict(t, table.Swap(t.Context(), leases.Lease{Shard: "none"},
		leases.Lease{Shard: "none", Owner: "a", Counter: 1}))
	if !gone.Missing || gone.AlreadyWritten(leases.Lease{}) {
		t.Errorf("a lease that never was: %+v", gone)
	}
	if s := read(t, table); len(s.Leases) != 2 {
		t.Errorf("a Swap made a lease: %+v", s.Leases)
	}
}

func deleteIsConditional(t *testing.T, table leases.Table) {
	stored := create(t, table, fullLease("s"))
	other := create(t, table, fullLease("r"))
	for _, old := range []leases.Lease{
		{Shard: "s", Owner: stored.Owner, Counter: stored.Counter + 1},
		{Shard: "s", Owner: "z", Counter: stored.Counter},
		{Shard: "s", Counter: stored.Counter},
	} {
		old.Opaque = stored.Opaque
		checkLease(t, "what is in the way", requireConflict(t, table.Delete(t.Context(), old)).Current, stored)
	}
	for range 2 { // a missing row is not an error
		requireNoError(t, table.Delete(t.Context(), stored))
	}
	requireNoError(t, table.Delete(t.Context(), leases.Lease{Shard: "none", Owner: "a"}))
	if s := read(t, table); len(s.Leases) != 1 {
		t.Errorf("after a delete: %+v", s.Leases)
	}
	checkLease(t, "another lease", readLease(t, table, "r"), other)
	if c := requireConflict(t, table.Swap(t.Context(), stored, stored)); !c.Missing {
		t.Errorf("a deleted lease: %+v", c)
	}
	checkLease(t, "the lease, new", create(t, table, leases.Lease{Shard: "s"}), leases.Lease{Shard: "s"})
}

func reserveOnce(t *testing.T, table leases.Table) {
	for _, step := range []struct {
		quota string
		seen  int64
		count int64
		ok    bool
	}{
		{"describe", 5, 0, false}, // the quota has no count yet
		{"describe", 0, 1, true},
		{"describe", 0, 1, false},
		{"describe", 1, 2, true},
		{"describe", 7, 2, false},
		{"an/other#é", 0, 1, true},
		{"describe", 2, 3, true},
	} {
		count, ok, err := table.ReserveCall(t.Context(), step.quota, step.seen)
		if err != nil || count != step.count || ok != step.ok {
			t.Errorf("%s from %d: %d %v (%v), want %d %v", step.quota, step.seen, count, ok, err, step.count, step.ok)
		}
	}
	if s := read(t, table); len(s.Leases)+len(s.Members) != 0 {
		t.Errorf("a quota is read as %+v", s)
	}
}

// callersShareNothing checks that a table and its callers do not share slices and maps.
func callersShareNothing(t *testing.T, table leases.Table) {
	given, want := fullLease("s"), fullLease("s")
	requireNoError(t, table.Create(t.Context(), given))
	given.Parents[0] = "changed"
	got := readLease(t, table, "s")
	checkLease(t, "a lease whose caller continued", got, want)
	got.Parents[0] = "changed"
	checkLease(t, "a lease whose reader continued", readLease(t, table, "s"), want)

	m := leases.Member{ID: "a", Stopped: map[string]string{"s": "why"}}
	requireNoError(t, table.Heartbeat(t.Context(), m))
	m.Stopped["s"] = "changed"
	read(t, table).Members[0].Stopped["s"] = "changed"
	if got := read(t, table).Members[0]; got.Stopped["s"] != "why" {
		t.Errorf("the member is %+v", got)
	}
}

// cancelledCallIsTransient checks that a cancelled call returns a transient error, which is not a conflict.
func cancelledCallIsTransient(t *testing.T, table leases.Table) {
	l := create(t, table, fullLease("s"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, readErr := table.Read(ctx)
	_, _, reserveErr := table.ReserveCall(ctx, "q", 0)
	for _, err := range []error{
		readErr, reserveErr, table.Create(ctx, fullLease("r")), table.Swap(ctx, l, l), table.Delete(ctx, l),
		table.Heartbeat(ctx, leases.Member{ID: "a"}), table.RemoveMember(ctx, "a"),
	} {
		requireTransient(t, err)
		if _, ok := leases.AsConflict(err); ok {
			t.Errorf("a cancelled call is the conflict %v", err)
		}
	}
}
