package leasestest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// behavesLikeMemory makes the same random calls to the table and to a [leases.Memory]. After each call, the answers and
// the contents of both must be equal.
func behavesLikeMemory(t *testing.T, table leases.Table) {
	for seed := range uint64(2) {
		m := &comparison{t: t, table: table, model: leases.NewMemory(read(t, table)), rng: rand.New(rand.NewPCG(seed, 1))}
		for step := range 50 {
			if what := m.step(); t.Failed() {
				t.Fatalf("seed %d, step %d: %s", seed, step, what)
			}
		}
	}
}

type comparison struct {
	t     *testing.T
	table leases.Table
	model *leases.Memory
	rng   *rand.Rand
	known []leases.Lease // all leases that were read so far, also outdated ones
}

func (p *comparison) pick(from ...string) string { return from[p.rng.IntN(len(from))] }

func (p *comparison) randomSet() []string {
	return []string{"shard-0", "shard-1", "shard-2"}[:p.rng.IntN(4)]
}

// randomChange returns a copy of old with random values in a few fields.
func (p *comparison) randomChange(old leases.Lease) leases.Lease {
	l := old
	for range 1 + p.rng.IntN(4) {
		switch p.rng.IntN(12) {
		case 0:
			l.Owner = p.pick("", "a", "b")
		case 1:
			l.Checkpoint, _ = leases.ParseCheckpoint(p.pick("TRIM_HORIZON", "LATEST", "AT_TIMESTAMP", "SHARD_END", "1", "22",
				"333"))
		case 2:
			l.Parents = p.randomSet()
		case 3:
			l.Children = p.randomSet()
		case 4:
			l.First = p.pick("", "1", "2")
		case 5:
			l.From = time.Unix(int64(p.rng.IntN(3)), 0)
		case 6:
			l.Time = time.Unix(int64(p.rng.IntN(3)), 0)
			l.Checkpoint = leases.After(fmt.Sprint(4444 + p.rng.IntN(100))) // Time changes only with the checkpoint
		case 7:
			l.RequestedBy = p.pick("", "a", "b")
		case 8:
			l.Pinned = p.pick("", "x")
		case 9:
			l.Load = float64(p.rng.IntN(3)) / 3
		case 10:
			l.Stopped = p.pick("", "records were lost", "its row is damaged")
		case 11:
			l.Stream = p.pick("", "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.000")
		}
	}
	if l.Checkpoint == old.Checkpoint {
		l.Time = old.Time
	}
	return l
}

// step makes the same call to both tables, and returns the description of the call.
func (p *comparison) step() string {
	ctx := p.t.Context()
	switch p.rng.IntN(8) {
	case 0:
		l := p.randomChange(leases.Lease{Shard: p.pick("shard-0", "shard-1", "shard-2"), Counter: int64(p.rng.IntN(3))})
		p.compare(p.table.Create(ctx, l), p.model.Create(ctx, l))
		return fmt.Sprintf("Create %+v", l)
	case 1:
		old, ok := p.knownLease()
		if !ok {
			return "nothing"
		}
		p.compare(p.table.Delete(ctx, old), p.model.Delete(ctx, old))
		return fmt.Sprintf("Delete %+v", old)
	case 2:
		m := leases.Member{ID: p.pick("a", "b"), Heartbeat: p.rng.Int64N(9), Leaving: p.rng.IntN(2) == 0,
			AtEndHeartbeat: p.rng.Int64N(3)}
		p.compare(p.table.Heartbeat(ctx, m), p.model.Heartbeat(ctx, m))
		return fmt.Sprintf("Heartbeat %+v", m)
	case 3:
		consumer := p.pick("a", "b")
		p.compare(p.table.RemoveMember(ctx, consumer), p.model.RemoveMember(ctx, consumer))
		return "RemoveMember " + consumer
	default:
		old, ok := p.knownLease()
		if !ok {
			return "nothing"
		}
		next := p.randomChange(old)
		if next.Owner != old.Owner || next.Checkpoint != old.Checkpoint {
			next.Counter++
		}
		p.compare(p.table.Swap(ctx, old, next), p.model.Swap(ctx, old, next))
		return fmt.Sprintf("Swap\n%+v to\n%+v", old, next)
	}
}

// knownLease returns a recent or outdated lease of the table. It returns false if there is none.
func (p *comparison) knownLease() (leases.Lease, bool) {
	p.known = append(p.known, read(p.t, p.table).Leases...)
	if len(p.known) == 0 {
		return leases.Lease{}, false
	}
	return p.known[max(0, len(p.known)-1-p.rng.IntN(6))], true
}

// compare compares the answers and the contents of both tables.
func (p *comparison) compare(got, want error) {
	p.t.Helper()
	a, gotConflict := leases.AsConflict(got)
	b, wantConflict := leases.AsConflict(want)
	switch {
	case gotConflict != wantConflict || !gotConflict && (got != nil || want != nil):
		p.t.Errorf("the answer is %v, want %v", got, want)
	case gotConflict && (a.Missing != b.Missing || !p.equalLeases(a.Current, b.Current)):
		p.t.Errorf("the conflict is\n%+v, want\n%+v", a, b)
	}
	tableContent, modelContent := read(p.t, p.table), read(p.t, p.model)
	if !slices.EqualFunc(tableContent.Leases, modelContent.Leases, p.equalLeases) ||
		!slices.EqualFunc(tableContent.Members, modelContent.Members, leases.Member.Equal) {
		p.t.Errorf("it holds\n%+v, want\n%+v", tableContent, modelContent)
	}
}

func (p *comparison) equalLeases(a, b leases.Lease) bool {
	a.Opaque, b.Opaque = "", ""
	return a.Equal(b)
}
