package leasestest

import (
	"testing"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// lostSwap checks that a Swap whose answer was lost is recognized when the Swap is sent again.
func lostSwap(t *testing.T, table leases.Table, lose func()) {
	l := create(t, table, leases.Lease{Shard: "s", Owner: "a", Counter: 1})
	next := l
	next.Checkpoint, next.Counter, next.Load = leases.After("10"), 2, 3
	lose()
	requireTransient(t, table.Swap(t.Context(), l, next))
	c := requireConflict(t, table.Swap(t.Context(), l, next))
	checkLease(t, "what is in the way", c.Current, next)
	if !c.AlreadyWritten(next) {
		t.Errorf("%+v is not recognised", c.Current)
	}
	// A row that another writer changed is not recognized.
	taken := next
	taken.Owner, taken.Counter = "b", 2
	if c.AlreadyWritten(taken) {
		t.Errorf("%+v is taken for %+v", c.Current, taken)
	}
	// A Swap that changes neither owner nor checkpoint can be repeated.
	wanted := c.Current
	wanted.RequestedBy = "b"
	lose()
	requireTransient(t, table.Swap(t.Context(), c.Current, wanted))
	checkLease(t, "a lease that is wanted", swap(t, table, c.Current, wanted), wanted)
}

func lostCreate(t *testing.T, table leases.Table, lose func()) {
	l := fullLease("s")
	lose()
	requireTransient(t, table.Create(t.Context(), l))
	if c := requireConflict(t, table.Create(t.Context(), l)); !c.AlreadyWritten(l) {
		t.Errorf("%+v is not recognised", c.Current)
	}
}

func lostDelete(t *testing.T, table leases.Table, lose func()) {
	l := create(t, table, fullLease("s"))
	lose()
	requireTransient(t, table.Delete(t.Context(), l))
	requireNoError(t, table.Delete(t.Context(), l))
}

func lostHeartbeat(t *testing.T, table leases.Table, lose func()) {
	m := leases.Member{ID: "a", Heartbeat: 1}
	lose()
	requireTransient(t, table.Heartbeat(t.Context(), m))
	requireNoError(t, table.Heartbeat(t.Context(), m))
	if s := read(t, table); len(s.Members) != 1 || !s.Members[0].Equal(m) {
		t.Errorf("members %+v", s.Members)
	}
}

// lostReserve checks that a reservation whose answer was lost stays taken: no other call gets the same count.
func lostReserve(t *testing.T, table leases.Table, lose func()) {
	lose()
	_, ok, err := table.ReserveCall(t.Context(), "q", 0)
	requireTransient(t, err)
	if ok {
		t.Error("a reservation without an answer")
	}
	count, ok, err := table.ReserveCall(t.Context(), "q", 0)
	if count != 1 || ok || err != nil {
		t.Errorf("%d %v (%v), want 1 false", count, ok, err)
	}
}
