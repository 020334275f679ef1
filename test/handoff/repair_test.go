package handoff

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// repaired plays worlds in which sinks are repaired.
func (p *player) repaired(seed uint64, without RepairRules) Result {
	p.t.Helper()
	r, err := RunRepair(p.t.Context(), p.stores, seed, Rules{Repair: without})
	if err != nil {
		p.t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(r.Story, "\n"))
	}
	return r
}

// repairHappens lists the events that must happen in many worlds.
var repairHappens = []string{
	"world: healthy", "world: changed", "world: damaged", "world: repaired", "world: the stream has no old images", "records were lost",
	"damaged: a row was changed", "damaged: a row was removed", "damaged: a row was moved", "damaged: a contribution was changed",
	"damaged: a claim that waits was changed", "damaged: a claim that waits was removed",
	"damaged: the claim of an owner was removed", "damaged: a seat was removed", "damaged: a seat was changed", "damaged: a contribution was removed", "damaged: a group was changed", "damaged: a group was removed",
	"damaged: a document was changed", "damaged: a document was removed", "damaged: a document was deleted",
	"repaired: row", "repaired: guard", "repaired: claim", "repaired: seat", "repaired: contribution", "repaired: group", "repaired: document", "repair: moved", "repair: equal",
	"two repairs at once", "a repair of an older report", "killed: a repair", "a write of the stream is in flight",
	"a process that is late writes", "given up and delivered again:", "audit: an item changed while its places were read",
}

// Damaged sinks must equal the table after they are audited and repaired under load, in every world. An audit must
// find nothing in healthy sinks.
func TestRepair(t *testing.T) {
	if *seed >= 0 {
		r := newPlayer(t).repaired(uint64(*seed), repairProtections[*without].without)
		t.Logf("seed %d\n%s", *seed, strings.Join(r.Story, "\n"))
		for kind, d := range r.Wrong {
			t.Errorf("%s: %s", kind, d)
		}
		return
	}
	worlds := *seeds / 2 // one world takes as long as three of TestRules
	var mu sync.Mutex
	tally, wrong := make(map[string]int), 0
	t.Run("worlds", func(t *testing.T) {
		for from := 0; from < worlds; from += perFile {
			t.Run(fmt.Sprint(from), func(t *testing.T) {
				t.Parallel()
				p := newPlayer(t)
				for n := from; n < min(from+perFile, worlds); n++ {
					r := p.repaired(*first+uint64(n), RepairRules{})
					mu.Lock()
					for what, times := range r.Tally {
						tally[what] += times
					}
					if len(r.Wrong) > 0 {
						if wrong++; wrong <= 10 {
							t.Errorf("seed %d (go test ./test/handoff -run 'Repair$' -seed %[1]d): %v", *first+uint64(n), r.Wrong)
						}
					}
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d worlds, %d end wrong", worlds, wrong)
	for _, what := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%8d  %s", tally[what], what)
	}
	for _, what := range repairHappens {
		if *seeds >= 1000 && tally[what] == 0 {
			t.Errorf("it never happened in any world: %s", what)
		}
	}
}

// repairProtections lists the rules of audit and repair to leave out.
var repairProtections = map[string]struct {
	without RepairRules
	first   uint64 // the first world, for a protection that few worlds need
}{
	"consumers are past":       {RepairRules{Unwaited: true}, 0},
	"item read again":          {RepairRules{ReadOnce: true}, 3450},
	"read after a repair":      {RepairRules{Unread: true}, 17700},
	"condition on the stored":  {RepairRules{AnyStored: true}, 0},
	"revision of groups":       {RepairRules{AnyRevision: true}, 0},
	"version of a repair":      {RepairRules{SameVersion: true}, 100},
	"no newer version":         {RepairRules{Newer: true}, 0},
	"no older version":         {RepairRules{Zero: true}, 19500},
	"later changes win":        {RepairRules{Insists: true}, 0},
	"births":                   {RepairRules{OtherBirth: true}, 0},
	"guards by the sink alone": {RepairRules{Guards: true}, 0},
	"nothing late":             {RepairRules{Late: true}, 1150},
}

// If a protection is left out, sinks must end wrong in some worlds.
func TestRepair_EachProtectionIsNeeded(t *testing.T) {
	for name, c := range repairProtections {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlayer(t)
			for n := c.first; n < c.first+mostWithout; n++ {
				wrong := p.repaired(n, c.without).Wrong
				for kind, difference := range wrong {
					t.Logf("seed %d (-seed %[1]d -without %q): %s: %s", n, name, kind, difference)
				}
				if len(wrong) > 0 {
					return
				}
			}
			t.Errorf("no world of %d ends wrong without it: it is not needed, or the worlds do not contain what it protects against", mostWithout)
		})
	}
}
