package leasestest_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/leasestest"
	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func TestTable(t *testing.T) {
	leasestest.Run(t, func(*testing.T) leases.Table { return leasestest.NewTable() })
}

func TestMemory(t *testing.T) {
	leasestest.Run(t, func(*testing.T) leases.Table { return leases.NewMemory(leases.Snapshot{}) })
}

func TestTable_Lost(t *testing.T) {
	leasestest.RunLostAnswers(t, func(*testing.T) (leases.Table, func()) {
		table, lose := leasestest.NewTable(), false
		table.After = func(context.Context, leasestest.Call) error {
			if !lose {
				return nil
			}
			lose = false
			return leasestest.Lost()
		}
		return table, func() { lose = true }
	})
}

// Hooks see every call, before and after its execution, and may be another writer.
func TestTable_Hooks(t *testing.T) {
	table := leasestest.NewTable()
	var story []string
	table.Before = func(ctx context.Context, c leasestest.Call) error {
		story = append(story, strings.Join(strings.Fields(c.Op+" "+c.Shard+" "+c.Consumer), " "))
		switch c.Op {
		case "Heartbeat":
			return leasestest.Throttled()
		case "Swap":
			return table.Memory.Swap(ctx, leases.Lease{Shard: c.Shard, Owner: c.Consumer}, leases.Lease{Shard: c.Shard, Owner: "faster", Counter: 1})
		}
		return nil
	}
	table.After = func(_ context.Context, c leasestest.Call) error {
		story = append(story, "did "+c.Op)
		return nil
	}
	l := leases.Lease{Shard: "s", Owner: "a"}
	if err := table.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	next := l
	next.Counter = 1
	c, ok := leases.AsConflict(table.Swap(t.Context(), l, next))
	if !ok || c.Current.Owner != "faster" || c.AlreadyWritten(next) {
		t.Errorf("%+v", c)
	}
	if _, again := pipeline.Retryable(table.Heartbeat(t.Context(), leases.Member{ID: "a"})); !again {
		t.Error("a throttle is not transient")
	}
	if s, err := table.Read(t.Context()); err != nil || len(s.Members) != 0 {
		t.Errorf("a refused beat was written: %+v (%v)", s, err)
	}
	want := []string{"Create s a", "did Create", "Swap s a", "Heartbeat a", "Read", "did Read"}
	if !slices.Equal(story, want) {
		t.Errorf("%q, want %q", story, want)
	}
}
