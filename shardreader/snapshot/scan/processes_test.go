package scan_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/shardreader/snapshot/scan"
	"github.com/tablewake/tablewake/sinks/state"
)

// parts keeps the parts of a backfill in memory. dead refuses what a killed process stores.
type parts struct {
	mu     sync.Mutex
	stored map[string]state.Part
	dead   map[string]bool // by owner
}

func (p *parts) Parts(context.Context, string) iter.Seq2[state.Part, error] {
	p.mu.Lock()
	defer p.mu.Unlock()
	stored := maps.Clone(p.stored)
	return func(yield func(state.Part, error) bool) {
		for _, id := range slices.Sorted(maps.Keys(stored)) {
			if !yield(stored[id], nil) {
				return
			}
		}
	}
}

func (p *parts) SetPart(_ context.Context, expected, next state.Part) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead[next.Owner] || next.Owner == "" && p.dead[expected.Owner] {
		return false, errors.New("killed")
	}
	if p.stored[next.ID] != expected {
		return false, nil
	}
	p.stored[next.ID] = next
	return true, nil
}

// Processes share the segments. If processes are killed at any moment, the next ones continue in the middle of a
// segment, and no item is missing at the end.
func TestScan_ByProcessesThatAreKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &fakeTable{pages: func(segment int) int { return segment * 9 % 40 }, latency: 100 * time.Millisecond}
		store := &parts{stored: map[string]state.Part{}, dead: map[string]bool{}}
		written, mu := map[string]bool{}, sync.Mutex{}
		sink := pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			for _, d := range ds {
				written[string(d.Change.Key)] = true
			}
			return nil
		})
		run := func(owner string, life time.Duration) error {
			s := open(t, table.client(), scan.Options{Table: "shop", Segments: 12, RCU: 512})
			src, err := snapshot.NewSource(snapshot.SourceOptions{Snapshot: s, Backfills: store, Run: "run", Owner: owner, ClaimTime: 2 * time.Second})
			if err != nil {
				return err
			}
			p, err := pipeline.New(pipeline.Options{Name: "test", Routes: []pipeline.Route{{Name: "sink", Sink: sink}}, StopTimeout: time.Second})
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if life > 0 {
				time.AfterFunc(life, func() {
					store.mu.Lock()
					store.dead[owner] = true
					store.mu.Unlock()
					cancel()
				})
			}
			err = p.Run(ctx, src, src)
			return errors.Join(err, src.Close(context.WithoutCancel(ctx)))
		}
		var lives sync.WaitGroup
		for i := range 2 {
			lives.Go(func() {
				for life := range 3 {
					if err := run(fmt.Sprintf("p%d.%d", i, life), time.Duration(7+3*i+life)*time.Second); err == nil {
						t.Errorf("process %d ended in life %d", i, life)
					}
				}
			})
		}
		lives.Wait()
		middle := 0
		for _, p := range store.stored {
			if !p.Done && p.Position != "" {
				middle++
			}
		}
		if middle == 0 {
			t.Errorf("no segment is read in part: %v", store.stored)
		}
		before := table.calls
		for i := range 2 {
			lives.Go(func() {
				if err := run(fmt.Sprintf("p%d.last", i), 0); err != nil {
					t.Error(err)
				}
			})
		}
		lives.Wait()
		want := 0
		for segment := range 12 {
			want += table.pages(segment)
		}
		if len(written) != want {
			t.Errorf("%d of %d items are written", len(written), want)
		}
		if again := table.calls - before; again >= want {
			t.Errorf("%d pages were read at last, and all together are %d: nothing was resumed", again, want)
		}
	})
}
