package leasestest

import (
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// Run runs the suite. open returns an empty table, and closes it when the test ends.
func Run(t *testing.T, open func(t *testing.T) leases.Table) {
	for name, check := range map[string]func(*testing.T, leases.Table){
		"Empty":                emptyTable,
		"LeasesComeBack":       leasesComeBack,
		"Kinds":                checkpointKindsComeBack,
		"Order":                snapshotsAreInOrder,
		"CreateOnce":           createOnce,
		"SwapIsConditional":    swapIsConditional,
		"SwapWritesDifference": swapWritesDifference,
		"SwapClears":           swapClears,
		"Switches":             switchesAreCounted,
		"Stops":                stopsBelongToCheckpoint,
		"Delete":               deleteIsConditional,
		"Members":              membersComeBack,
		"MembersAreWhole":      heartbeatReplacesRow,
		"Begin":                begunStreamsStay,
		"Reserve":              reserveOnce,
		"OneSwapWins":          oneSwapWins,
		"OneReserveWins":       oneReserveWins,
		"OneCreateWins":        oneCreateWins,
		"BesideEachOther":      writersDoNotDisturb,
		"AsMemory":             behavesLikeMemory,
		"OddNumbers":           oddNumbersAreStored,
		"CallersKeepTheirs":    callersShareNothing,
		"Cancelled":            cancelledCallIsTransient,
	} {
		t.Run(name, func(t *testing.T) { check(t, open(t)) })
	}
}

// RunLostAnswers checks that callers recognize writes whose answers were lost. lose makes the next write succeed
// without an answer.
func RunLostAnswers(t *testing.T, open func(t *testing.T) (table leases.Table, lose func())) {
	for name, check := range map[string]func(*testing.T, leases.Table, func()){
		"Swap":      lostSwap,
		"Create":    lostCreate,
		"Delete":    lostDelete,
		"Heartbeat": lostHeartbeat,
		"Reserve":   lostReserve,
	} {
		t.Run(name, func(t *testing.T) {
			table, lose := open(t)
			check(t, table, lose)
		})
	}
}

// fullLease returns a lease with all fields set.
func fullLease(shard string) leases.Lease {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	return leases.Lease{
		Shard: shard, Stream: "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.000",
		Owner: "a", Counter: 7, Checkpoint: leases.Checkpoint{Kind: leases.Sequence, Sequence: "4800000000012345678901",
			Sub: 3},
		Parents: []string{"shardId-00000001767323045000-0000000a", "shardId-00000001767323045000-0000000b"},
		First:   "4700000000012345678901", From: at, Time: at.Add(-time.Hour),
		RequestedBy: "b", Pinned: "c", Stopped: "records were lost before they were read", Load: 1234.5678,
	}
}

func requireNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, table leases.Table) leases.Snapshot {
	t.Helper()
	s, err := table.Read(t.Context())
	requireNoError(t, err)
	return s
}

// readLease returns the lease of a shard.
func readLease(t *testing.T, table leases.Table, shard string) leases.Lease {
	t.Helper()
	for _, l := range read(t, table).Leases {
		if l.Shard == shard {
			return l
		}
	}
	t.Fatalf("there is no lease of %s", shard)
	return leases.Lease{}
}

func create(t *testing.T, table leases.Table, l leases.Lease) leases.Lease {
	t.Helper()
	requireNoError(t, table.Create(t.Context(), l))
	return readLease(t, table, l.Shard)
}

func swap(t *testing.T, table leases.Table, old, next leases.Lease) leases.Lease {
	t.Helper()
	requireNoError(t, table.Swap(t.Context(), old, next))
	return readLease(t, table, old.Shard)
}

// checkLease compares two leases. It ignores Opaque, which belongs to the table.
func checkLease(t *testing.T, what string, got, want leases.Lease) {
	t.Helper()
	want.Opaque = got.Opaque
	if !got.Equal(want) {
		t.Errorf("%s is\n%+v, want\n%+v", what, got, want)
	}
}

// requireConflict fails the test unless err is a conflict, and returns it.
func requireConflict(t *testing.T, err error) *leases.Conflict {
	t.Helper()
	c, ok := leases.AsConflict(err)
	if !ok {
		t.Fatalf("%v, want a conflict", err)
	}
	if _, again := pipeline.Retryable(err); again || pipeline.IsFatal(err) {
		t.Errorf("the conflict %v is transient or fatal", err)
	}
	return c
}

// requireTransient fails the test unless err is transient.
func requireTransient(t *testing.T, err error) {
	t.Helper()
	if _, again := pipeline.Retryable(err); !again {
		t.Fatalf("%v, want a transient error", err)
	}
}
