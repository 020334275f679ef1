package leasestest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/shardreader/leases"
)

const (
	racers = 6
	rounds = 8
)

// race runs f in several goroutines concurrently. It returns the numbers of the goroutines for which f returned true.
func race(f func(i int) (wins bool)) (winners []int) {
	var wins [racers]bool
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() { wins[i] = f(i) })
	}
	wg.Wait()
	for i, won := range wins {
		if won {
			winners = append(winners, i)
		}
	}
	return winners
}

// oneSwapWins checks that one caller wins if several callers swap the same row concurrently. The other callers get a
// conflict with the row of the winner.
func oneSwapWins(t *testing.T, table leases.Table) {
	l := create(t, table, leases.Lease{Shard: "s"})
	for range rounds {
		conflicts := make([]*leases.Conflict, racers)
		winners := race(func(i int) bool {
			next := l
			next.Owner, next.Counter = fmt.Sprint("w", i), l.Counter+1
			err := table.Swap(t.Context(), l, next)
			conflict, refused := leases.AsConflict(err)
			if err != nil && !refused {
				t.Error(err)
			}
			conflicts[i] = conflict
			return err == nil
		})
		got := readLease(t, table, "s")
		if len(winners) != 1 || got.Owner != fmt.Sprint("w", winners[0]) || got.Counter != l.Counter+1 {
			t.Fatalf("%v won, and the lease is %+v", winners, got)
		}
		for _, c := range conflicts {
			if c != nil && !c.Current.Equal(got) {
				t.Errorf("the conflict shows\n%+v, want\n%+v", c.Current, got)
			}
		}
		l = got
	}
}

// oneReserveWins checks that one of several concurrent callers reserves a call, and that all get the new count.
func oneReserveWins(t *testing.T, table leases.Table) {
	for reserved := range int64(rounds) {
		winners := race(func(int) bool {
			count, ok, err := table.ReserveCall(t.Context(), "q", reserved)
			if err != nil || count != reserved+1 {
				t.Errorf("from %d: %d (%v)", reserved, count, err)
			}
			return ok
		})
		if len(winners) != 1 {
			t.Fatalf("the calls %v took %d", winners, reserved+1)
		}
	}
}

func oneCreateWins(t *testing.T, table leases.Table) {
	for round := range rounds {
		winners := race(func(i int) bool {
			err := table.Create(t.Context(), leases.Lease{Shard: fmt.Sprint("s", round), Owner: fmt.Sprint("w", i)})
			if _, refused := leases.AsConflict(err); err != nil && !refused {
				t.Error(err)
			}
			return err == nil
		})
		if len(winners) != 1 {
			t.Fatalf("%v created the lease", winners)
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
		if err := table.Heartbeat(ctx, leases.Member{ID: name, Heartbeat: next.Counter}); err != nil {
			return err
		}
	}
	return nil
}

// writersDoNotDisturb checks that writers of different leases do not disturb each other, and do not disturb readers.
func writersDoNotDisturb(t *testing.T, table leases.Table) {
	race(func(i int) bool {
		err := writeOwnLease(t.Context(), table, fmt.Sprint("s", i))
		if err != nil {
			t.Error(err)
		}
		return err == nil
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
