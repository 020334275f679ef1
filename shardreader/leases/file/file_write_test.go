package file

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// disk counts writes, and takes its time.
type disk struct {
	takes  time.Duration
	fails  error
	writes int

	mu   sync.Mutex
	last []byte
}

func (d *disk) save(_ string, content []byte) error {
	time.Sleep(d.takes)
	d.writes++
	if d.fails != nil {
		return d.fails
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = content
	return nil
}

// content is what is on it.
func (d *disk) content() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

func opened(t *testing.T, d *disk) *Table {
	t.Helper()
	table, err := Open(filepath.Join(t.TempDir(), "leases.json"), "shop")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	table.replaceFile = d.save
	return table
}

// Any number of concurrent checkpoints are two writes: the one in flight, and the next. Each returns only when its own
// is on disk, and between two writes the disk rests.
func TestGrouped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{takes: 10 * time.Millisecond}
		table := opened(t, d)
		begun := time.Now()
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				shard := fmt.Sprintf("shard-%d", i)
				if err := table.Create(t.Context(), leases.Lease{Shard: shard}); err != nil {
					t.Error(err)
				}
				if c, err := parse(d.content()); err != nil || !holds(c.snapshot, shard) {
					t.Errorf("%s is not on disk (%v)", shard, err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(begun); d.writes > 2 || took != 60*time.Millisecond {
			t.Errorf("%d writes in %v, want 2 in 60ms", d.writes, took)
		}
	})
}

func holds(s leases.Snapshot, shard string) bool {
	for _, l := range s.Leases {
		if l.Shard == shard {
			return true
		}
	}
	return false
}

// An idle process writes its file every 10 seconds, for its beats, and reads without writing.
func TestBeatsAreSeldomWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		table := opened(t, d)
		for i := range 60 {
			if err := table.Heartbeat(t.Context(), leases.Member{ID: "w", Heartbeat: int64(i)}); err != nil {
				t.Fatal(err)
			}
			if s, err := table.Read(t.Context()); err != nil || s.Members[0].Heartbeat != int64(i) {
				t.Fatalf("%+v (%v)", s, err)
			}
			time.Sleep(time.Second)
		}
		if d.writes != 6 {
			t.Errorf("%d writes in a minute, want 6", d.writes)
		}
	})
}

// A change that could not be written is not visible to others, and is written with the next one.
func TestFailingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{fails: syscall.EIO}
		table := opened(t, d)
		l := leases.Lease{Shard: "s", Counter: 1}
		for range 2 { // a conflict with one's own row is not reported either, until that row is on disk
			if _, again := pipeline.Retryable(table.Create(t.Context(), l)); !again {
				t.Error("a failing disk is no transient error")
			}
		}
		if _, err := table.Read(t.Context()); !errors.Is(err, syscall.EIO) {
			t.Errorf("what is not on disk is read: %v", err)
		}
		// Changes in memory alone continue.
		if err := table.Heartbeat(t.Context(), leases.Member{ID: "w"}); err != nil {
			t.Error(err)
		}
		if _, ok, err := table.ReserveCall(t.Context(), "q", 0); !ok || err != nil {
			t.Errorf("%v (%v)", ok, err)
		}
		d.fails = nil
		c, ok := leases.AsConflict(table.Create(t.Context(), l))
		if !ok || !c.AlreadyWritten(l) {
			t.Errorf("sent again: %v", c)
		}
		if got, err := parse(d.last); err != nil || !holds(got.snapshot, "s") {
			t.Errorf("the disk has %s (%v)", d.last, err)
		}
		d.fails = syscall.ENOSPC
		if err := table.Create(t.Context(), leases.Lease{Shard: "r"}); !pipeline.IsFatal(err) {
			t.Errorf("a full disk: %v", err)
		}
	})
}

// A caller that stops waiting gets an error, and the others still get their write.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{takes: 100 * time.Millisecond}
		table := opened(t, d)
		if err := table.Create(t.Context(), leases.Lease{Shard: "s"}); err != nil {
			t.Fatal(err)
		}
		// The disk rests now; the first of two waiting callers stops waiting.
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, again := pipeline.Retryable(table.Create(ctx, leases.Lease{Shard: "r"})); !again {
				t.Error("a call that was given up is not transient")
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if err := table.Create(t.Context(), leases.Lease{Shard: "q"}); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if c, err := parse(d.last); err != nil || !holds(c.snapshot, "q") || d.writes != 2 {
			t.Errorf("%d writes, the last is %s (%v)", d.writes, d.last, err)
		}
	})
}
