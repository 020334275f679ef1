package handoff

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	seeds   = flag.Int("seeds", 10_000, "how many worlds to play")
	first   = flag.Uint64("first", 0, "the first of them")
	seed    = flag.Int64("seed", -1, "play this world alone, and tell what happens in it")
	without = flag.String("without", "", "with -seed: the protection that the world leaves out")
)

// perFile is the number of worlds that share one file.
const perFile = 500

// player plays worlds in one file.
type player struct {
	t      *testing.T
	stores *Stores
}

func newPlayer(t *testing.T) *player {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "handoff") // a sync of a file in memory is fast
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	stores, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stores.Close(); err != nil {
			t.Error(err)
		}
	})
	return &player{t, stores}
}

func (p *player) play(seed uint64, without Rules) Result {
	p.t.Helper()
	r, err := Run(p.t.Context(), p.stores, seed, without)
	if err != nil {
		p.t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(r.Story, "\n"))
	}
	return r
}

// happens lists the events that must happen in many worlds. An event that never happened was not tested.
var happens = []string{
	"world: the sinks are as old as the stream", "world: a scan", "world: an export", "world: incremental exports",
	"world: the stream has no old images", "world: incremental exports have no old images",
	"a change was before the floor", "a change was superseded", "a backfilled item was superseded", "a part was read twice",
	"a process that is late writes", "given up and delivered again:", "records were read again", "an item expired",
	"a claim waited", "a backfilled claim waited", "a shard was split", "world: the snapshot does not know its stream",
}

// A sink that is filled while the stream is written must equal the table in the end, in every world.
func TestRules(t *testing.T) {
	if *seed >= 0 {
		r := newPlayer(t).play(uint64(*seed), protections[*without].without)
		t.Logf("seed %d\n%s", *seed, strings.Join(r.Story, "\n"))
		if len(r.Wrong) > 0 {
			t.Fail()
		}
		return
	}
	var mu sync.Mutex
	tally, wrong := make(map[string]int), 0
	t.Run("worlds", func(t *testing.T) {
		for from := 0; from < *seeds; from += perFile {
			t.Run(fmt.Sprint(from), func(t *testing.T) {
				t.Parallel()
				p := newPlayer(t)
				for n := from; n < min(from+perFile, *seeds); n++ {
					r := p.play(*first+uint64(n), Rules{})
					mu.Lock()
					for what, times := range r.Tally {
						tally[what] += times
					}
					if len(r.Wrong) > 0 {
						if wrong++; wrong <= 3 {
							t.Errorf("seed %d (go test ./test/handoff -run 'Rules$' -seed %[1]d):\n%s", *first+uint64(n), strings.Join(r.Story, "\n"))
						}
					}
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d worlds, %d end wrong", *seeds, wrong)
	for _, what := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%8d  %s", tally[what], what)
	}
	for _, k := range kinds {
		happens = append(happens, "sink: "+k.name)
	}
	for _, what := range happens {
		if *seeds >= 1000 && tally[what] == 0 {
			t.Errorf("it never happened in any world: %s", what)
		}
	}
}

// protections lists the rules to leave out.
var protections = map[string]struct {
	without Rules
	kinds   int    // the number of kinds of sinks that must end wrong without it
	first   uint64 // the first world, for a protection that few worlds need
}{
	"condition on the version": {Rules{Unconditional: true}, 9, 0},
	"version 0":                {Rules{Head: true}, 9, 0},
	"snapshot after H":         {Rules{BeforeH: true}, 9, 0},
	"waiting":                  {Rules{NoWait: true}, 3, 0},
	"floor":                    {Rules{NoFloor: true}, 3, 0},
	"slack":                    {Rules{NoSlack: true}, 3, 0},
	"times in order":           {Rules{StampsUnordered: true}, 1, 2000},
	"consistent scan":          {Rules{StaleScan: true}, 3, 0},
	"sequence is the layer":    {Rules{LayersAtZero: true}, 7, 0},
	"operations of the layers": {Rules{LayersAsItems: true}, 2, 0},
	"old images of the layers": {Rules{LayersNewImages: true}, 3, 0},
	"layers without a hole":    {Rules{LayersApart: true}, 9, 0},
	"tombstones":               {Rules{Purged: true}, 7, 0},
	"tombstones of the unseen": {Rules{NoTombstones: true}, 8, 0},
	"keep counts the image":    {Rules{KeepsCounted: true}, 1, 0},
	"claims wait":              {Rules{ClaimsFail: true}, 1, 0},
	"parents first":            {Rules{ChildFirst: true}, 1, 0},
	"settled":                  {Rules{Unsettled: true}, 9, 0},
	"the same stream":          {Rules{OtherStream: true}, 9, 0},
	"filled once":              {Rules{SecondBackfill: true}, 7, 0},
}

// mostWithout is the maximum number of worlds without a protection until enough kinds of sinks end wrong.
const mostWithout = 1500

// If a protection is left out, sinks of several kinds must end wrong in some worlds.
func TestRules_EachProtectionIsNeeded(t *testing.T) {
	for name, c := range protections {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlayer(t)
			wrong := make(map[string]int)
			for n := c.first; n < c.first+mostWithout; n++ {
				for kind, difference := range p.play(n, c.without).Wrong {
					if wrong[kind]++; wrong[kind] == 1 {
						t.Logf("seed %d (-seed %[1]d -without %q): %s", n, name, difference)
					}
				}
				if len(wrong) >= c.kinds {
					return
				}
			}
			t.Errorf("%d worlds without it: %d kinds of sinks end wrong, want %d: it is not needed, or the worlds do not contain what it protects against", mostWithout, len(wrong), c.kinds)
		})
	}
}
