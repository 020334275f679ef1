package leasestest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tablewake/tablewake/shardreader/leases"
)

const (
	racers = 6
	rounds = 8
)

// race runs f in several goroutines concurrently.
func race(f func(i int)) {
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// oneSwapWins checks that one caller wins if several callers swap the same row concurrently. The other callers get a
// conflict with the row of the winner.
func oneSwapWins(t *testing.T, table leases.Table) {
	l := create(t, table, leases.Lease{Shard: "s"})
	for range rounds {
		var winner atomic.Int64
		var wins atomic.Int32
		conflicts := make([]*leases.Conflict, racers)
		race(func(i int) {
			next := l
			next.Owner, next.Counter = fmt.Sprint("w", i), l.Counter+1
			err := table.Swap(t.Context(), l, next)
			if err == nil {
				wins.Add(1)
				winner.Store(int64(i))
				return
			}
			var ok bool
			if conflicts[i], ok = leases.AsConflict(err); !ok {
				t.Error(err)
			}
		})
		got := readLease(t, table, "s")
		if wins.Load() != 1 || got.Owner != fmt.Sprint("w", winner.Load()) || got.Counter != l.Counter+1 {
			t.Fatalf("%d won, the last of them w%d, and the lease is %+v", wins.Load(), winner.Load(), got)
		}
		for _, c := range conflicts {
			if c != nil && !c.Current.Equal(got) {
				t.Errorf("the conflict shows\n%+v, want\n%+v", c.Current, got)
			}
		}
		l = got
	}
}

func oneReserveWins(t *testing.T, table leases.Table) {
	for seen := range int64(rounds) {
		var wins atomic.Int32
		race(func(int) {
			count, ok, err := table.ReserveCall(t.Context(), "q", seen)
			if err != nil || count != seen+1 {
				t.Errorf("from %d: %d (%v)", seen, count, err)
			}
			if ok {
				wins.Add(1)
			}
		})
		if wins.Load() != 1 {
			t.Fatalf("%d calls took %d", wins.Load(), seen+1)
		}
	}
}

func oneCreateWins(t *testing.T, table leases.Table) {
	for round := range rounds {
		var wins atomic.Int32
		race(func(i int) {
			err := table.Create(t.Context(), leases.Lease{Shard: fmt.Sprint("s", round), Owner: fmt.Sprint("w", i)})
			if err == nil {
				wins.Add(1)
			} else if _, ok := leases.AsConflict(err); !ok {
				t.Error(err)
			}
		})
		if wins.Load() != 1 {
			t.Fatalf("%d created the lease", wins.Load())
		}
	}
	if s := read(t, table); len(s.Leases) != rounds {
		t.Errorf("%d leases", len(s.Leases))
	}
}

// writeOwnLease creates a lease, and writes it and a heartbeat in each round.
func writeOwnLease(ctx context.Context, table leases.Table, name string) error {
	l := leases.Lease{Shard: name, Owner: name}
	if err := table.Create(ctx, l); err != nil {
		return err
	}
	for range rounds {
		s, err := table.Read(ctx)
		if err != nil {
			return err
		}
		for _, stored := range s.Leases {
			if stored.Shard == name {
				l = stored
			}
		}
		next := l
		next.Counter, next.Checkpoint = l.Counter+1, leases.After(fmt.Sprint(l.Counter+1))
		if err := table.Swap(ctx, l, next); err != nil {
			return err
		}
		if err := table.Heartbeat(ctx, leases.Member{Worker: name, Heartbeat: next.Counter}); err != nil {
			return err
		}
	}
	return nil
}

// Writers of different leases do not disturb each other or readers.
func writersDoNotDisturb(t *testing.T, table leases.Table) {
	race(func(i int) {
		if err := writeOwnLease(t.Context(), table, fmt.Sprint("s", i)); err != nil {
			t.Error(err)
		}
	})
	s := read(t, table)
	if len(s.Leases) != racers || len(s.Members) != racers {
		t.Fatalf("%+v", s)
	}
	for i, l := range s.Leases {
		want := leases.Lease{Shard: l.Shard, Owner: l.Shard, Counter: rounds, Checkpoint: leases.After(fmt.Sprint(rounds))}
		checkLease(t, "the lease", l, want)
		if m := s.Members[i]; m.Heartbeat != rounds {
			t.Errorf("the member is %+v", m)
		}
	}
}
