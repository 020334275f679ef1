package gaps

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks/state"
)

// noted returns a store with two gaps.
func noted(t *testing.T) (state.Gaps, []state.NotedGap) {
	t.Helper()
	store, err := file.Open(filepath.Join(t.TempDir(), "leases.json"), "shop")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, shard := range []string{"a", "b"} {
		if err := store.AddGap(t.Context(), record.Gap{StreamARN: "arn", Shard: shard, After: "1", Before: "5"}); err != nil {
			t.Fatal(err)
		}
	}
	return store, stored(t, store)
}

func stored(t *testing.T, store state.Gaps) []state.NotedGap {
	t.Helper()
	gaps, err := stream.Collect(store.Gaps(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return gaps
}

func mustOwn(t *testing.T, store state.Gaps, lasts time.Duration) *ownership {
	t.Helper()
	c, err := takeOwnership(t.Context(), store, stored(t, store), "", lasts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func repaired(was state.GapRepair) state.GapRepair {
	was.Stage = state.GapRepaired
	return was
}

// A renewal stores the progress of the repair's present step. The result of the repair has no step. Each step has its
// own start time.
func TestOwnership_Step(t *testing.T) {
	store, _ := noted(t)
	c := mustOwn(t, store, time.Minute)
	c.step.update(10, 40)
	c.step.update(30, 40)
	c.renew(t.Context())
	first := stored(t, store)[0].Repair
	if first.Done != 30 || first.Total != 40 || first.Since.IsZero() || first.Since.After(first.At) {
		t.Errorf("stored are %d of %d since %v, want 30 of 40", first.Done, first.Total, first.Since)
	}
	time.Sleep(time.Millisecond)
	c.step.update(2, 5)
	c.renew(t.Context())
	if second := stored(t, store)[0].Repair; second.Done != 2 || second.Total != 5 || !second.Since.After(first.Since) {
		t.Errorf("the next step is stored as %d of %d since %v", second.Done, second.Total, second.Since)
	}
	if _, err := c.finish(t.Context(), repaired); err != nil {
		t.Fatal(err)
	}
	if r := stored(t, store)[0].Repair; r.Done != 0 || r.Total != 0 || !r.Since.IsZero() {
		t.Errorf("a repaired gap has the step %d of %d", r.Done, r.Total)
	}
}

// If two repairs run at once, one of them owns the gaps.
func TestOwnership_Once(t *testing.T) {
	store, gaps := noted(t)
	first := mustOwn(t, store, time.Minute)
	if second := mustOwn(t, store, time.Minute); len(first.ownedGaps()) != 2 || len(second.ownedGaps()) != 0 {
		t.Errorf("the first has %+v, the second %+v", first.ownedGaps(), second.ownedGaps())
	}
	if late, err := takeOwnership(t.Context(), store, gaps, "", time.Minute); err != nil || len(late.ownedGaps()) != 0 { // these gaps were read before the first took them
		t.Errorf("one that read earlier has %+v, %v", late.ownedGaps(), err)
	}
	first.renew(t.Context())
	if n, err := first.finish(t.Context(), repaired); n != 2 || err != nil {
		t.Errorf("%d are finished, %v", n, err)
	}
	for _, g := range stored(t, store) {
		if g.Repair.Stage != state.GapRepaired || g.Repair.Owner != "" || g.Repair.Run != first.runID {
			t.Errorf("it is stored as %+v", g)
		}
	}
}

// Another process takes over the gaps of a killed process. If that process was only slow, it can finish nothing any
// more.
func TestOwnership_TakenOver(t *testing.T) {
	store, _ := noted(t)
	killed := mustOwn(t, store, time.Nanosecond)
	next := mustOwn(t, store, time.Minute)
	if len(next.ownedGaps()) != 2 {
		t.Fatalf("taken over: %+v", next.ownedGaps())
	}
	if n, err := killed.finish(t.Context(), repaired); n != 0 || err != nil {
		t.Errorf("the slow one finishes %d, %v", n, err)
	}
	if killed.renew(t.Context()); len(killed.ownedGaps()) != 0 {
		t.Errorf("the slow one has %+v", killed.ownedGaps())
	}
	if g := stored(t, store)[0]; g.Repair.Stage != state.GapRepairing || g.Repair.Owner != next.runID {
		t.Errorf("it is %+v", g)
	}
}

// If a gap grows while it is repaired, it stays open. If it is noted again without growing, it is repaired.
func TestOwnership_Grown(t *testing.T) {
	store, gaps := noted(t)
	c, err := takeOwnership(t.Context(), store, gaps, "laptop", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for shard, before := range map[string]string{"a": "9", "b": "4"} {
		if err := store.AddGap(t.Context(), record.Gap{StreamARN: "arn", Shard: shard, After: "1", Before: before, Found: gaps[0].Found}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := c.finish(t.Context(), repaired); n != 1 || err != nil {
		t.Errorf("%d are finished, %v", n, err)
	}
	for _, g := range stored(t, store) {
		want := map[string]state.GapStage{"a": state.GapOpen, "b": state.GapRepaired}[g.Shard]
		if g.Repair.Stage != want {
			t.Errorf("%+v, want %s", g, want)
		}
	}
}

// A repair ends when it has lost all of its gaps.
func TestOwnership_Lost(t *testing.T) {
	store, _ := noted(t)
	c := mustOwn(t, store, 30*time.Millisecond)
	for _, shard := range []string{"a", "b"} {
		if err := store.AddGap(t.Context(), record.Gap{StreamARN: "arn", Shard: shard, After: "1", Whole: true}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	c.renewUntilDone(ctx, cancel)
	if !errors.Is(context.Cause(ctx), errNotOwner) {
		t.Errorf("it ends with %v", context.Cause(ctx))
	}
}

// failing is a store whose SetGapRepair fails after n calls.
type failing struct {
	gapStore
	n int
}

type gapStore = state.Gaps

func (f *failing) SetGapRepair(ctx context.Context, g record.Gap, r state.GapRepair) (bool, error) {
	if f.n--; f.n < 0 {
		return false, errors.New("throttled")
	}
	return f.gapStore.SetGapRepair(ctx, g, r)
}

// A repair that ends without a result leaves gaps that anyone can repair at once.
func TestOwnership_Released(t *testing.T) {
	store, _ := noted(t)
	c := mustOwn(t, store, time.Minute)
	if err := c.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	gaps := stored(t, store)
	if len(gaps) != 2 {
		t.Fatalf("%d gaps are stored", len(gaps))
	}
	for _, g := range gaps {
		if g.Repair.Stage != state.GapOpen || g.Repair.Run != "" || g.Repair.Owner != "" {
			t.Errorf("it is stored as %+v", g)
		}
	}
}

// If the store gives no answer for longer than the ownership lasts, the ownership stays, unless another process takes
// it over.
func TestOwnership_OutlivesErrors(t *testing.T) {
	store, gaps := noted(t)
	broken := &failing{store, 2}
	c, err := takeOwnership(t.Context(), broken, gaps, "laptop", time.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	if c.renew(t.Context()); len(c.ownedGaps()) != 2 {
		t.Fatalf("after an error it has %+v", c.ownedGaps())
	}
	broken.n = 100
	if c.renew(t.Context()); len(c.ownedGaps()) != 2 {
		t.Errorf("after the store's answer it has %+v", c.ownedGaps())
	}
}

// The log says why a gap cannot be repaired.
func TestErrors_AreLogged(t *testing.T) {
	for _, err := range []error{errNotOwner, waitingLettersError("orders", "-c shop.yaml --live")} {
		if text := redact.LogText(err); !strings.Contains(text, err.Error()) {
			t.Errorf("the log has %q of %q", text, err)
		}
	}
}
