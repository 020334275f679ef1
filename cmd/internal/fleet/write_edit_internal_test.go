package fleet

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// racingTable calls before ahead of each Swap.
type racingTable struct {
	*leases.Memory
	before func()
}

func (t *racingTable) Swap(ctx context.Context, old, next leases.Lease) error {
	t.before()
	return t.Memory.Swap(ctx, old, next)
}

// resetWorld has a lease with an owner, and stores the gaps that a reset of the lease notes.
type resetWorld struct {
	table *racingTable
	gaps  []record.Gap
	fail  error // error of each note
}

func newResetWorld() *resetWorld {
	l := leases.Lease{Shard: "s", Stream: "arn", Owner: "task-1", Counter: 7, Checkpoint: leases.After("700")}
	return &resetWorld{table: &racingTable{leases.NewMemory(leases.Snapshot{Leases: []leases.Lease{l}}), func() {}}}
}

func (w *resetWorld) lease(t *testing.T) leases.Lease {
	t.Helper()
	seen, err := w.table.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(seen.Leases) == 0 {
		return leases.Lease{}
	}
	return seen.Leases[0]
}

// reset resets the lease to 1000, which skips records.
func (w *resetWorld) reset(t *testing.T) (leaseEdit, error) {
	t.Helper()
	shared := &sharedStores{table: w.table, noteGap: func(_ context.Context, g record.Gap) error {
		if w.fail == nil {
			w.gaps = append(w.gaps, g)
		}
		return w.fail
	}}
	return swapLease(t.Context(), shared, w.lease(t), func(l leases.Lease) (leaseEdit, error) {
		return resetLease(l, resetPosition{Sequence: "1000"}, true, time.Now())
	})
}

// checkpoint writes a checkpoint as the owner. The write has no effect if the owner has lost the lease.
func (w *resetWorld) checkpoint(t *testing.T, sequence string) {
	t.Helper()
	l := w.lease(t)
	next := l.Clone()
	next.Owner, next.Checkpoint = "task-1", leases.After(sequence)
	next.Counter++
	l.Owner = "task-1" // the owner expects its own lease
	if err := w.table.Memory.Swap(t.Context(), l, next); err != nil {
		if _, lost := leases.AsConflict(err); !lost {
			t.Fatal(err)
		}
	}
}

// If the owner writes checkpoints while its lease is reset, one gap is stored. The gap begins after the last
// checkpoint.
func TestReset_GapFollowsTheLastCheckpoint(t *testing.T) {
	w := newResetWorld()
	checkpoints := []string{"710", "720", "730"}
	w.table.before = func() {
		switch {
		case len(checkpoints) > 0:
			w.checkpoint(t, checkpoints[0])
			checkpoints = checkpoints[1:]
		case w.lease(t).Owner != "task-1": // the owner has lost the lease
			w.checkpoint(t, "800")
		}
	}
	e, err := w.reset(t)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.gaps) != 1 || w.gaps[0].After != "730" {
		t.Errorf("gaps %+v, want one after 730", w.gaps)
	}
	if l := w.lease(t); l.Owner != "" || l.Checkpoint != leases.After("1000") || l.Counter != e.Next.Counter {
		t.Errorf("the lease is %+v, the edit %+v", l, e.Next)
	}
}

// A reset stores the gap after it took the lease from the owner, and before it changes the position.
func TestReset_GapIsStoredBeforeThePosition(t *testing.T) {
	w := newResetWorld()
	var gaps []int
	var skipped []bool
	w.table.before = func() {
		gaps, skipped = append(gaps, len(w.gaps)), append(skipped, w.lease(t).Checkpoint == leases.After("1000"))
	}
	if _, err := w.reset(t); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(gaps, []int{0, 1}) || slices.Contains(skipped, true) {
		t.Errorf("gaps before each write: %v; the position was changed before: %v", gaps, skipped)
	}
}

// A reset that changes nothing leaves no gap.
func TestReset_LeavesNoGapWithoutAChange(t *testing.T) {
	for name, before := range map[string]func(*testing.T, *resetWorld){
		"the lease is gone": func(t *testing.T, w *resetWorld) {
			if err := w.table.Delete(t.Context(), w.lease(t)); err != nil {
				t.Fatal(err)
			}
		},
		"the owner is always faster": func(t *testing.T, w *resetWorld) { w.checkpoint(t, "710") },
	} {
		w := newResetWorld()
		w.table.before = func() { before(t, w) }
		if _, err := w.reset(t); err == nil || len(w.gaps) > 0 {
			t.Errorf("%s: %v, and gaps %+v", name, err, w.gaps)
		}
	}
}

// If the gap cannot be stored, the lease keeps its checkpoint, and any consumer can take it.
func TestReset_WithoutAGapChangesNoPosition(t *testing.T) {
	w := newResetWorld()
	w.fail = errors.New("no such table")
	if _, err := w.reset(t); !errors.Is(err, w.fail) {
		t.Errorf("error %v", err)
	}
	if l := w.lease(t); l.Owner != "" || l.Checkpoint != leases.After("700") {
		t.Errorf("the lease is %+v", l)
	}
}
