package file

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// Of thousands of leases, those that did not change are not encoded again for each write of one.
func TestTable_WriteOfALeaseCostsNothingForTheOthers(t *testing.T) {
	allocs := func(n int) float64 {
		table := opened(t, &disk{})
		for i := range n {
			if err := table.rows.Create(t.Context(), leases.Lease{Shard: fmt.Sprintf("shard-%05d", i)}); err != nil {
				t.Fatal(err)
			}
			table.lines.markOutdated(fmt.Sprintf("shard-%05d", i))
		}
		old := leases.Lease{Shard: "shard-00000"}
		return testing.AllocsPerRun(20, func() {
			next := old
			next.Counter++
			table.lines.markOutdated(old.Shard)
			if err := table.rows.Swap(t.Context(), old, next); err != nil {
				t.Fatal(err)
			}
			if _, err := table.encode(); err != nil {
				t.Fatal(err)
			}
			old = next
		})
	}
	if few, many := allocs(10), allocs(1000); many > few+2 {
		t.Errorf("with 10 leases a write makes %v allocations, with 1,000 it makes %v", few, many)
	}
}

// The file holds what the table does, whatever was created, changed and deleted between two writes.
func TestTable_LinesAreTheLeases(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	d := &disk{}
	table := opened(t, d)
	for range 200 {
		for range rng.IntN(4) {
			l := leases.Lease{Shard: fmt.Sprintf("shard-%d", rng.IntN(20))}
			s, err := table.rows.ReadShards(t.Context(), []string{l.Shard})
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Leases) == 1 {
				l = s.Leases[0]
			}
			next := l
			next.Counter++
			do := []func() error{
				func() error { return table.Create(t.Context(), l) },
				func() error { return table.Swap(t.Context(), l, next) },
				func() error { return table.Delete(t.Context(), l) },
			}[rng.IntN(3)]
			if err := do(); err != nil {
				if _, refused := leases.AsConflict(err); !refused {
					t.Fatal(err)
				}
			}
		}
		content, err := table.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse(content)
		if err != nil {
			t.Fatal(err)
		}
		want, err := table.rows.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(got.snapshot.Leases) != len(want.Leases) {
			t.Fatalf("the file holds %d leases, the table %d", len(got.snapshot.Leases), len(want.Leases))
		}
		for i, l := range want.Leases {
			if !got.snapshot.Leases[i].Equal(l) {
				t.Fatalf("the file holds %+v, the table %+v", got.snapshot.Leases[i], l)
			}
		}
	}
}
