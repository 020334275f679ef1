package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
)

// plan is one random run: the pages to read, the settings of the sinks, the faults that happen and the end of the run.
// It is drawn before the run, so that rapid can shrink a run that fails.
type plan struct {
	pages    [][]string // keys of each page; the first letter is the partition
	lazy     bool
	sinks    []sinkPlan
	letters  bool
	marks    bool // whether there is a Quarantine, which needs letters
	hold     time.Duration
	bounds   int // Options.MaxChanges
	workers  int
	stop     time.Duration // time of the stop; 0: at the end of the source
	hardness time.Duration // StopTimeout
	revokes  []revocation
	seed     uint64
}

type sinkPlan struct {
	keepsOrder  bool
	guarded     bool
	sorted      bool // whether waiting changes may be packed
	concurrency int
	batch       Batch
	faults      int // percent of Writes that fail
	takes       int // number of each 3 changes that the sink takes
	poison      int // number, of each 7 changes, for which the route's filter fails (0: none)
	slow        time.Duration
}

func drawPlan(t *rapid.T) plan {
	key := rapid.StringMatching(`[pqr][a-e]`)
	p := plan{
		lazy:     rapid.Bool().Draw(t, "lazy"),
		letters:  rapid.Bool().Draw(t, "letters"),
		bounds:   rapid.SampledFrom([]int{1, 5, 20, 1000}).Draw(t, "bounds"),
		workers:  rapid.IntRange(1, 4).Draw(t, "workers"),
		seed:     rapid.Uint64().Draw(t, "seed"),
		hardness: rapid.SampledFrom([]time.Duration{time.Millisecond, time.Hour, 1000 * time.Hour}).Draw(t, "hardness"),
	}
	if p.letters {
		p.marks = rapid.Bool().Draw(t, "marks")
		p.hold = rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "hold")
	}
	if rapid.Bool().Draw(t, "stops") {
		p.stop = time.Duration(rapid.IntRange(1, 20_000).Draw(t, "stop")) * time.Millisecond
	}
	if rapid.Bool().Draw(t, "revokes") {
		for range rapid.IntRange(1, 6).Draw(t, "revokes") {
			p.revokes = append(p.revokes, revocation{
				after: time.Duration(rapid.IntRange(0, 5_000).Draw(t, "after")) * time.Millisecond,
				of:    rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "of"),
				drain: rapid.Bool().Draw(t, "drain"),
				first: rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, time.Second}).Draw(t, "first"),
			})
		}
	}
	for range rapid.IntRange(0, 25).Draw(t, "pages") {
		keys := rapid.SliceOfN(key, 0, 12).Draw(t, "keys")
		for i := range keys { // all keys of a page are in one partition
			keys[i] = keys[0][:1] + keys[i][1:]
		}
		p.pages = append(p.pages, keys)
	}
	for range rapid.IntRange(1, 3).Draw(t, "sinks") {
		p.sinks = append(p.sinks, sinkPlan{
			keepsOrder:  rapid.Bool().Draw(t, "keepsOrder"),
			guarded:     rapid.Bool().Draw(t, "guarded"),
			sorted:      rapid.Bool().Draw(t, "sorted"),
			concurrency: rapid.IntRange(1, 3).Draw(t, "concurrency"),
			batch: Batch{
				Count:  rapid.SampledFrom([]int{1, 2, 7, 500}).Draw(t, "count"),
				Bytes:  rapid.SampledFrom([]int64{0, 100, 200}).Draw(t, "bytes"),
				Fill:   rapid.Bool().Draw(t, "fill"),
				Linger: rapid.SampledFrom([]time.Duration{0, 0, time.Second}).Draw(t, "linger"),
			},
			faults: rapid.SampledFrom([]int{0, 10, 40}).Draw(t, "faults"),
			takes:  rapid.IntRange(1, 3).Draw(t, "takes"),
			poison: rapid.IntRange(0, 6).Draw(t, "poison"),
			slow:   rapid.SampledFrom([]time.Duration{0, time.Millisecond, 3 * time.Second}).Draw(t, "slow"),
		})
	}
	return p
}

// TestContract runs random pipelines with random faults, revoked partitions and stops. It checks that the changes of a
// key are written in order, that both ledgers balance, that a position is committed only after its changes are durable,
// that no change is lost, and that no change overtakes a dead letter that holds its key.
func TestContract(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = p.run(t) })
		if len(wrong) > 0 {
			rt.Fatalf("%+v\n%q", p, wrong)
		}
	})
}

func (p plan) run(t *testing.T) []string {
	w := &witness{rand: rand.New(rand.NewPCG(p.seed, 1)), pages: map[string][][]string{}, commit: map[string]int{}, late: map[string]bool{}, fails: 5}
	o := Options{
		Name: "contract", Workers: p.workers, MaxChanges: p.bounds, StopTimeout: p.hardness,
		Backoff: Backoff{Base: 10 * time.Millisecond, Max: 2 * time.Second},
	}
	if p.letters {
		o.DeadLetters, o.MaxHold = w, p.hold
	}
	if p.marks {
		o.Quarantine = w
	}
	for i, sp := range p.sinks {
		s := &witnessSink{witness: w, name: fmt.Sprint("s", i), plan: sp, letters: p.letters, marks: p.marks, busy: map[item.Key]bool{}, behind: map[item.Key]int{}, lettered: map[item.Key]int{}, held: map[item.Key]int{},
			tried: map[item.Key]int{}, durable: map[string]int{}, gaveUp: map[string]bool{}}
		w.sinks = append(w.sinks, s)
		o.Routes = append(o.Routes, Route{Name: s.name, Sink: s, Filters: []Filter{s}, Concurrency: sp.concurrency, Batch: sp.batch})
	}
	pl, err := New(o)
	if err != nil {
		return []string{err.Error()}
	}
	ctx := t.Context()
	if p.stop > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.stop)
		defer cancel()
	}
	ended := make(chan struct{})
	var snapshots sync.WaitGroup
	snapshots.Go(func() {
		for {
			if err := pl.Ledger().Check(); err != nil {
				w.mu.Lock()
				w.errorf("snapshot: %v", err)
				w.mu.Unlock()
			}
			select {
			case <-ended:
				return
			case <-time.After(137 * time.Millisecond):
			}
		}
	})
	src := w.source(p)
	if len(p.revokes) > 0 {
		src = &revokedSource{witness: w, plain: src, plan: p, incarnation: map[string]int{}}
	}
	runErr := pl.Run(ctx, src, w)
	close(ended)
	snapshots.Wait()
	w.final(p, pl.Ledger(), runErr)
	return w.wrong
}
