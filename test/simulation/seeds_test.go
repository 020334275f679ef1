package simulation

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seed  = flag.Int64("seed", -1, "run this seed alone, and tell its story")
	seeds = flag.Int("seeds", 2000, "how many seeds to run, over all mixes")
	mix   = flag.String("mix", "", "the mix of what happens: default, harsh, reshard, deploy or trim. Default: all, in turn")
	first = flag.Uint64("first", 0, "the first of the seeds")
)

// TestSeeds runs whole fleets through what may happen to them. A seed that fails prints
// its story, made as short as it will get, and the command that runs it again.
func TestSeeds(t *testing.T) {
	if *seed >= 0 {
		for _, m := range wanted() {
			one(t, uint64(*seed), m, true)
		}
		return
	}
	var next atomic.Int64
	var mu sync.Mutex
	var tally Tally
	var virtual time.Duration
	broken := map[string]int{}
	var wg sync.WaitGroup
	begin := time.Now()
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= *seeds {
					return
				}
				ms := wanted()
				s, m := *first+uint64(n), ms[n%len(ms)]
				r := Run(NewPlan(s, m), Worker, false)
				mu.Lock()
				tally.Add(r.Tally)
				virtual += r.Virtual
				if b := r.Breach; b != nil {
					if broken[b.Rule]++; broken[b.Rule] <= 3 {
						t.Errorf("seed %d, mix %s: %v", s, m, b)
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d seeds, %v of virtual time in %v\n%s", *seeds, virtual, time.Since(begin), tally.String())
	for rule, n := range broken {
		t.Logf("broken by %d seeds: %s", n, rule)
	}
}

// wanted are the mixes that flags ask for.
func wanted() []Mix {
	if *mix != "" {
		return []Mix{Mix(*mix)}
	}
	return mixes
}

// one runs a seed, and shows what it breaks as short as it can be shown.
func one(t *testing.T, s uint64, m Mix, tell bool) {
	t.Helper()
	p := NewPlan(s, m)
	r := Run(p, Worker, false)
	if r.Breach == nil {
		if tell {
			t.Logf("seed %d of mix %s holds\n%s", s, m, Run(p, Worker, true).Story)
		}
		return
	}
	small := Shrink(p, Worker, r.Breach.Rule, 400)
	t.Errorf("seed %d of mix %s: %v\nshrunk to %d of %d events:\n%+v\n%s\nrun it again: go test ./test/simulation -run Seeds -seed %d -mix %s",
		s, m, r.Breach, len(small.Events), len(p.Events), small, Run(small, Worker, true).Story, s, m)
}

var _ = fmt.Sprint
