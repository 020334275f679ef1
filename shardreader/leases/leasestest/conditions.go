package leasestest

import (
	"context"
	"testing"

	"github.com/tablewake/tablewake/shardreader/leases"
)

func createOnce(t *testing.T, table leases.Table) {
	first := create(t, table, full("s"))
	again := conflict(t, table.Create(t.Context(), leases.Lease{Shard: "s", Owner: "z"}))
	same(t, "what is in the way", again.Now, first)
	if again.Gone || again.Did(leases.Lease{Shard: "s", Owner: "z"}) || !again.Did(full("s")) {
		t.Errorf("%+v", again)
	}
	same(t, "the lease", lease(t, table, "s"), first)
}

// A Swap succeeds only if the row has the owner and counter that the caller knows.
func swapIsConditional(t *testing.T, table leases.Table) {
	was := create(t, table, leases.Lease{Shard: "s", Owner: "a", Counter: 5, Checkpoint: leases.After("10")})
	create(t, table, leases.Lease{Shard: "r", Owner: "a", Counter: 5})
	for _, old := range []leases.Lease{
		{Shard: "s", Owner: "b", Counter: 5},
		{Shard: "s", Owner: "", Counter: 5},
		{Shard: "s", Owner: "a", Counter: 4},
		{Shard: "s", Owner: "a", Counter: 6},
		{Shard: "s"},
	} {
		old.Opaque, old.Checkpoint = was.Opaque, was.Checkpoint
		next := old
		next.Owner, next.Counter, next.Checkpoint = "z", 7, leases.After("99")
		c := conflict(t, table.Swap(t.Context(), old, next))
		same(t, "what is in the way", c.Now, was)
		if c.Gone || c.Did(next) {
			t.Errorf("%+v", c)
		}
	}
	same(t, "the lease", lease(t, table, "s"), was)

	// The checkpoint is not part of the condition.
	old := was
	old.Checkpoint = leases.After("9")
	next := old
	next.Owner, next.Counter = "", 6
	got := swap(t, table, old, next)
	next.Checkpoint = was.Checkpoint
	same(t, "a lease that was let go", got, next)

	// A condition with an owner fails on a free lease.
	old = got
	old.Owner = "a"
	same(t, "what is in the way", conflict(t, table.Swap(t.Context(), old, next)).Now, got)
	next = got
	next.Owner, next.Counter = "b", 7
	same(t, "a lease that was taken", swap(t, table, got, next), next)
	same(t, "another lease", lease(t, table, "r"), leases.Lease{Shard: "r", Owner: "a", Counter: 5})

	gone := conflict(t, table.Swap(t.Context(), leases.Lease{Shard: "none"}, leases.Lease{Shard: "none", Owner: "a", Counter: 1}))
	if !gone.Gone || gone.Did(leases.Lease{}) {
		t.Errorf("a lease that never was: %+v", gone)
	}
	if s := read(t, table); len(s.Leases) != 2 {
		t.Errorf("a Swap made a lease: %+v", s.Leases)
	}
}

func deleteIsConditional(t *testing.T, table leases.Table) {
	was := create(t, table, full("s"))
	other := create(t, table, full("r"))
	for _, old := range []leases.Lease{
		{Shard: "s", Owner: was.Owner, Counter: was.Counter + 1},
		{Shard: "s", Owner: "z", Counter: was.Counter},
		{Shard: "s", Counter: was.Counter},
	} {
		old.Opaque = was.Opaque
		same(t, "what is in the way", conflict(t, table.Delete(t.Context(), old)).Now, was)
	}
	for range 2 { // a missing row is not an error
		must(t, table.Delete(t.Context(), was))
	}
	if err := table.Delete(t.Context(), leases.Lease{Shard: "none", Owner: "a"}); err != nil {
		t.Error(err)
	}
	if s := read(t, table); len(s.Leases) != 1 {
		t.Errorf("after a delete: %+v", s.Leases)
	}
	same(t, "another lease", lease(t, table, "r"), other)
	if c := conflict(t, table.Swap(t.Context(), was, was)); !c.Gone {
		t.Errorf("a deleted lease: %+v", c)
	}
	same(t, "the lease, new", create(t, table, leases.Lease{Shard: "s"}), leases.Lease{Shard: "s"})
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
		count, ok, err := table.Reserve(t.Context(), step.quota, step.seen)
		if err != nil || count != step.count || ok != step.ok {
			t.Errorf("%s from %d: %d %v (%v), want %d %v", step.quota, step.seen, count, ok, err, step.count, step.ok)
		}
	}
	if s := read(t, table); len(s.Leases)+len(s.Members) != 0 {
		t.Errorf("a quota is read as %+v", s)
	}
}

// A table and its callers do not share slices and maps.
func callersKeepTheirs(t *testing.T, table leases.Table) {
	given, want := full("s"), full("s")
	must(t, table.Create(t.Context(), given))
	given.Parents[0] = "changed"
	got := lease(t, table, "s")
	same(t, "a lease whose caller went on", got, want)
	got.Parents[0] = "changed"
	same(t, "a lease whose reader went on", lease(t, table, "s"), want)

	m := leases.Member{Worker: "a", Stopped: map[string]string{"s": "why"}}
	must(t, table.Heartbeat(t.Context(), m))
	m.Stopped["s"] = "changed"
	read(t, table).Members[0].Stopped["s"] = "changed"
	if got := read(t, table).Members[0]; got.Stopped["s"] != "why" {
		t.Errorf("the member is %+v", got)
	}
}

// A cancelled call returns an error that is not a conflict.
func cancelledCallSaysSo(t *testing.T, table leases.Table) {
	l := create(t, table, full("s"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, readErr := table.Read(ctx)
	_, _, reserveErr := table.Reserve(ctx, "q", 0)
	for _, err := range []error{
		readErr, reserveErr, table.Create(ctx, full("r")), table.Swap(ctx, l, l), table.Delete(ctx, l),
		table.Heartbeat(ctx, leases.Member{Worker: "a"}), table.Leave(ctx, "a"),
	} {
		transient(t, err)
		if _, ok := leases.AsConflict(err); ok {
			t.Errorf("a cancelled call is the conflict %v", err)
		}
	}
}
