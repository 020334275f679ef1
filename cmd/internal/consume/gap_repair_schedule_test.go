package consume

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state"
)

// notedGaps stores the gaps of a pipeline in memory.
type notedGaps struct {
	mu   sync.Mutex
	gaps []state.NotedGap
	fail error // error of each read
}

func (n *notedGaps) AddGap(context.Context, record.Gap) error { return nil }

func (n *notedGaps) Gaps(context.Context) iter.Seq2[state.NotedGap, error] {
	return func(yield func(state.NotedGap, error) bool) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.fail != nil {
			yield(state.NotedGap{}, n.fail)
			return
		}
		for _, g := range n.gaps {
			if !yield(g, nil) {
				return
			}
		}
	}
}

func (n *notedGaps) SetGapRepair(context.Context, record.Gap, state.GapRepair) (bool, error) {
	return true, nil
}

// set replaces the repair of the only gap.
func (n *notedGaps) set(r state.GapRepair) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gaps[0].Repair = r
}

const testLease = 6 * time.Second

// repairs runs a gapRepair for the time d over one gap that was just found. It returns the times at which do was
// called.
func repairs(t *testing.T, log *running, d time.Duration, noted *notedGaps, do func(ctx context.Context, calls int) error) (began time.Time, calls []time.Time) {
	t.Helper()
	began = time.Now()
	noted.gaps = []state.NotedGap{{Gap: record.Gap{StreamARN: "arn", Shard: "shard-1", Found: began}, Repair: state.GapRepair{Stage: state.GapOpen, Version: 1}}}
	r := &gapRepair{gaps: noted, leaseDuration: testLease, log: slog.New(slog.NewTextHandler(log, nil)), repairDue: func(ctx context.Context, due []state.NotedGap) error {
		if len(due) != 1 || due[0].Shard != "shard-1" {
			t.Errorf("gaps that are repaired: %+v", due)
		}
		calls = append(calls, time.Now())
		return do(ctx, len(calls))
	}}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	r.run(ctx)
	if n := r.unrepaired.Load(); (n == 0) != (noted.gaps[0].Repair.Stage == state.GapRepaired) {
		t.Errorf("%d gaps are not repaired, and the gap is %+v", n, noted.gaps[0].Repair)
	}
	return began, calls
}

// A gap is repaired once, and not before its former reader must have stopped.
func TestGapRepair_WaitsForTheFormerReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noted := &notedGaps{}
		began, calls := repairs(t, &running{t: t}, time.Hour, noted, func(context.Context, int) error {
			noted.set(state.GapRepair{Stage: state.GapRepaired, Run: "r"})
			return nil
		})
		if len(calls) != 1 {
			t.Fatalf("%d repairs, want 1", len(calls))
		}
		if wait := calls[0].Sub(began); wait < testLease {
			t.Errorf("the repair began %v after the gap was found, and a lease lasts %v", wait, testLease)
		}
	})
}

// Gaps that an outage leaves one after the other are repaired together. If new gaps are found again and again, each gap
// waits for its repair at most two leases and one look.
func TestGapRepair_Together(t *testing.T) {
	for _, tt := range []struct {
		name  string
		every time.Duration // time between two gaps
		gaps  int
		want  int // number of repairs; 0: more than one
	}{
		{"at one time", 0, 4, 1},
		{"within a lease", testLease / 5, 4, 1},
		{"without end", testLease / 2, 200, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				noted := &notedGaps{}
				var calls [][]state.NotedGap
				r := &gapRepair{gaps: noted, leaseDuration: testLease, log: slog.New(slog.DiscardHandler), repairDue: func(_ context.Context, due []state.NotedGap) error {
					calls = append(calls, due)
					noted.mu.Lock()
					defer noted.mu.Unlock()
					for _, d := range due {
						i := slices.IndexFunc(noted.gaps, func(g state.NotedGap) bool { return g.Shard == d.Shard })
						if age := time.Since(d.Found); age < testLease || age > 3*testLease {
							t.Errorf("the repair of %s began %v after it was found", d.Shard, age)
						}
						noted.gaps[i].Repair.Stage = state.GapRepaired
					}
					return nil
				}}
				go func() {
					for i := range tt.gaps {
						noted.mu.Lock()
						gap := record.Gap{StreamARN: "arn", Shard: fmt.Sprintf("shard-%d", i), Found: time.Now()}
						noted.gaps = append(noted.gaps, state.NotedGap{Gap: gap, Repair: state.GapRepair{Stage: state.GapOpen, Version: 1}})
						noted.mu.Unlock()
						time.Sleep(tt.every)
					}
				}()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				r.run(ctx)
				if n := r.unrepaired.Load(); n != 0 {
					t.Errorf("%d gaps are not repaired", n)
				}
				if tt.want > 0 && len(calls) != tt.want || tt.want == 0 && len(calls) < 2 {
					t.Errorf("%d repairs of %d gaps", len(calls), tt.gaps)
				}
			})
		})
	}
}

// A repair that fails is tried again, after pauses that grow, and the log has the class of its error without its data.
func TestGapRepair_PausesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noted, log := &notedGaps{}, &running{t: t}
		_, calls := repairs(t, log, 12*time.Hour, noted, func(context.Context, int) error {
			return redact.Class("repair").Errorf("the row of %s", "tweety")
		})
		if len(calls) < 8 || len(calls) > 30 {
			t.Fatalf("%d repairs in 12 h", len(calls))
		}
		for i := 2; i < len(calls); i++ {
			before, pause := calls[i-1].Sub(calls[i-2]), calls[i].Sub(calls[i-1])
			if pause < before || pause > maxRepairPause {
				t.Errorf("pause %d is %v, the one before it %v", i, pause, before)
			}
		}
		if text := log.text(); !strings.Contains(text, "repair") || strings.Contains(text, "tweety") {
			t.Errorf("the log has\n%s", text)
		}
	})
}

// A repair that left differences is not repeated at once, even if another consumer made the repair.
func TestGapRepair_WhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noted := &notedGaps{}
		_, calls := repairs(t, &running{t: t}, 12*time.Hour, noted, func(_ context.Context, n int) error {
			noted.set(state.GapRepair{Stage: state.GapOpen, Run: "r", Left: 1, At: time.Now()})
			return nil
		})
		if len(calls) < 8 || len(calls) > 40 {
			t.Errorf("%d repairs in 12 h", len(calls))
		}
	})
}

// A consumer leaves the repair of another consumer alone until its ownership expires. Then it takes the repair over.
func TestGapRepair_OfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noted := &notedGaps{}
		expires := time.Now().Add(10 * time.Minute)
		_, calls := repairs(t, &running{t: t}, time.Hour, noted, func(_ context.Context, n int) error {
			if n == 1 { // another consumer claimed it first
				noted.set(state.GapRepair{Stage: state.GapRepairing, Run: "r", Owner: "another", Expires: expires})
				return nil
			}
			noted.set(state.GapRepair{Stage: state.GapRepaired, Run: "r"})
			return nil
		})
		if len(calls) != 2 || calls[1].Before(expires) {
			t.Errorf("repairs at %v; the owner expires at %v", calls, expires)
		}
	})
}

// If the store cannot be read, the consumer continues. A repair ends with its consumer.
func TestGapRepair_Ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noted := &notedGaps{fail: errors.New("down")}
		time.AfterFunc(time.Minute, func() {
			noted.mu.Lock()
			defer noted.mu.Unlock()
			noted.fail = nil
		})
		began, calls := repairs(t, &running{t: t}, time.Hour, noted, func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if len(calls) != 1 || time.Since(began) != time.Hour {
			t.Errorf("%d repairs, and the end after %v", len(calls), time.Since(began))
		}
	})
}
