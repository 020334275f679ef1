package simulation

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

var (
	seed  = flag.Int64("seed", -1, "run this seed alone, and tell its story")
	seeds = flag.Int("seeds", 2000, "how many seeds to run; the mixes take turns")
	first = flag.Uint64("first", 0, "the first of the seeds")
	mix   = flag.String("mix", "", "what happens how often: default, harsh, reshard, deploy or trim. Default: all")
)

// shown is the maximum number of failing seeds that are shrunk and printed.
const shown = 3

// TestSeeds runs whole fleets through random events and faults. A failing seed is printed after it is shrunk, with
// the command that runs it again.
func TestSeeds(t *testing.T) {
	if *seed >= 0 {
		for _, m := range wanted() {
			tellSeed(t, uint64(*seed), m)
		}
		return
	}
	begin := time.Now()
	all := runSeeds(*first, *seeds, wanted())
	failed := 0
	for i, b := range all.breaches {
		if b == nil {
			continue
		}
		s, m := *first+uint64(i), wanted()[i%len(wanted())]
		if failed++; failed <= shown {
			tellSeed(t, s, m)
			continue
		}
		t.Errorf("seed %d of mix %s: %v", s, m, b)
	}
	t.Logf("%d seeds, %d failed; %v of virtual time in %v\n%s", *seeds, failed, all.virtual.Round(time.Minute), time.Since(begin).Round(time.Second), all.tally.String())

	// An event that never happened was not tested. A run of few seeds may miss some events.
	if *seeds >= 1000 && *mix == "" {
		all.tally.Each(func(name string, n int) {
			if n == 0 {
				t.Errorf("it never happened in any seed: %s", name)
			}
		})
	}
}

// outcome is the result of many seeds.
type outcome struct {
	breaches []*Breach // by seed, nil for those that hold
	tally    Tally
	virtual  time.Duration
}

// runSeeds runs n seeds in parallel, each in one goroutine.
func runSeeds(first uint64, n int, mixes []Mix) outcome {
	out := outcome{breaches: make([]*Breach, n)}
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				r := Run(NewPlan(first+uint64(i), mixes[i%len(mixes)]), Worker, false)
				mu.Lock()
				out.breaches[i] = r.Breach
				out.tally.Add(r.Tally)
				out.virtual += r.Virtual
				mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

// wanted returns the mixes that the flags select.
func wanted() []Mix {
	if *mix != "" {
		return []Mix{Mix(*mix)}
	}
	return Mixes
}

// tellSeed runs a seed and prints its story. If the seed fails, the story is that of the shrunk plan.
func tellSeed(t *testing.T, s uint64, m Mix) {
	t.Helper()
	p := NewPlan(s, m)
	r := Run(p, Worker, false)
	if r.Breach == nil {
		t.Logf("seed %d of mix %s holds\n%s", s, m, Run(p, Worker, true).Story)
		return
	}
	small := Shrink(p, Worker, r.Breach.Rule, 400)
	t.Errorf("seed %d of mix %s: %v\n%d of its %d events are left, in the world\n%s\n%s\nto run it again: go test ./test/simulation -run Seeds -seed %d -mix %s",
		s, m, r.Breach, len(small.Events), len(p.Events), small, Run(small, Worker, true).Story, s, m)
}

// TestSeeds_Failed runs seeds that once failed.
func TestSeeds_Failed(t *testing.T) {
	for _, of := range []struct {
		seed uint64
		mix  Mix
		why  string
	}{
		{501023, Trims, "a shard was read that came after one at which reading stopped, by way of shards that nobody had seen"},
		{501403, Harsh, "empty pages of iterators that expired counted together as the end of a shard"},
		{700810, Harsh, "a shard was gone with its child, and its grandchild, which was listed, was begun too late"},
		{700400, Trims, "a stream that is enabled, and whose shards were not listed yet, counted as read to its end"},
		{700183, Trims, "a lost shard was missed in the gap that its sibling's children had told of"},
		{500679, Trims, "all was well while the only process was between two lives, so that nobody was left to stop"},
		{603721, Harsh, "a start position was refused, calls failed until records were dropped, and reading began behind them without a gap"},
		{604454, Trims, "an ended lease was removed before a child had begun that only an older listing had shown"},
		{607456, Harsh, "an ended lease named descendants as its children, and counted as one that is no longer needed"},
		{707756, Harsh, "a gap that was stored late counted as one that was noted twice"},
	} {
		if b := Run(NewPlan(of.seed, of.mix), Worker, false).Breach; b != nil {
			t.Errorf("seed %d of mix %s: %v: %s", of.seed, of.mix, b, of.why)
		}
	}
}

// A seed gives the same run every time, byte for byte.
func TestReplay(t *testing.T) {
	for n := range uint64(10) {
		for _, m := range Mixes {
			p := NewPlan(n, m)
			a, b := Run(p, Worker, true), Run(p, Worker, true)
			if a.Story != b.Story {
				t.Fatalf("seed %d of mix %s brings two stories", n, m)
			}
			if len(a.Story) < 1000 || fmt.Sprint(a.Breach) != fmt.Sprint(b.Breach) {
				t.Fatalf("seed %d of mix %s: %d bytes of story, %v and %v", n, m, len(a.Story), a.Breach, b.Breach)
			}
		}
	}
}
