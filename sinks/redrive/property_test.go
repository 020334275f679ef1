package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/redrive"
)

// flaky makes a sink fail for a random share of the changes. Some failures are temporary, and some are permanent.
type flaky struct {
	mu   sync.Mutex
	rand *rand.Rand
	rate int  // percentage of the changes that fail
	off  bool // no change fails any more
}

func (f *flaky) fail(*record.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch n := f.rand.IntN(100); {
	case f.off || n >= f.rate:
		return nil
	case n%3 == 0:
		return pipeline.Transient(errBad)
	}
	return errBad
}

// While redrives run beside a pipeline that makes dead letters, the sink without versions gets each change once, and
// the changes of each key in order. At the end no dead letter and no mark is left.
func TestRun_BesideARunningPipeline(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		rate := rapid.SampledFrom([]int{5, 30, 70}).Draw(rt, "faults in a hundred")
		f := &flaky{rand: rand.New(rand.NewPCG(seed, 1)), rate: rate}
		w := newWorld(t, func(o *pipeline.Options) {
			o.Routes[0].Concurrency = rapid.IntRange(1, 3).Draw(rt, "concurrency")
			o.Routes[0].Batch.Count = rapid.SampledFrom([]int{1, 3, 500}).Draw(rt, "batch")
		})
		w.free.keepsOrder = rapid.Bool().Draw(rt, "keeps order")
		w.free.fail, w.safe.fail = f.fail, f.fail
		keys := rapid.IntRange(1, 4).Draw(rt, "keys")
		var records [][]byte
		want := rapid.IntRange(1, 60).Draw(rt, "records")
		for n := 1; n <= want; n++ {
			records = append(records, recordJSON(string(rune('a'+n*7%keys)), n, text))
		}
		ended := make(chan struct{})
		var at sync.WaitGroup
		var errs [3]error
		at.Go(func() {
			defer close(ended)
			errs[0] = w.Run(t.Context(), slow(source(records)), nil)
		})
		o := redrive.Options{Pipeline: w, Letters: w.box, Quarantine: w.marks, Attempts: 2, Backoff: pipeline.Backoff{Base: 1, Max: 1}}
		at.Go(func() {
			for {
				if _, err := redrive.Run(context.Background(), o); err != nil {
					errs[1] = err
					return
				}
				select {
				case <-ended:
					return
				default:
				}
			}
		})
		at.Wait()
		f.mu.Lock()
		f.off = true
		f.mu.Unlock()
		_, errs[2] = redrive.Run(t.Context(), o)
		if err := errors.Join(errs[:]...); err != nil {
			rt.Fatal(err)
		}
		got := w.free.take()
		if wrong := disorder(got); wrong != "" {
			rt.Errorf("%s: %s", wrong, got)
		}
		if n := len(strings.Fields(got)); n != want {
			rt.Errorf("the sink got %d of %d changes: %s", n, want, got)
		}
		if n := len(strings.Fields(w.safe.take())); n < want {
			rt.Errorf("the guarded sink got %d of %d changes", n, want)
		}
		if w.box.list() != "" || w.marks.list() != "" {
			rt.Errorf("left: letters %s, marks %s", w.box.list(), w.marks.list())
		}
		if err := w.Ledger().Check(); err != nil {
			rt.Error(err)
		}
	})
}

// slow returns a source that waits a moment before each page.
func slow(src pipeline.Source) pipeline.Source {
	return pipeline.SourceFunc(func(ctx context.Context) (*pipeline.Page, error) {
		t := time.NewTimer(50 * time.Microsecond)
		defer t.Stop()
		<-t.C
		return src.Read(ctx)
	})
}

// errDies is the error of a store whose process crashes.
var errDies = pipeline.Fatal(errors.New("the process dies"))

// mortal is a store whose process crashes at a step of a redrive, either before or after the step is executed.
type mortal struct {
	*box
	*marks
	steps int  // the process crashes at the step with this number
	after bool // the step is executed before the crash
}

func (m *mortal) step(do func() error) error {
	m.steps--
	if m.steps == 0 && !m.after {
		return errDies
	}
	if err := do(); err != nil {
		return err
	}
	if m.steps == 0 {
		return errDies
	}
	return nil
}

func (m *mortal) Remove(ctx context.Context, ids []string) error {
	return m.step(func() error { return m.box.Remove(ctx, ids) })
}

func (m *mortal) Put(ctx context.Context, letters []pipeline.DeadLetter) error {
	return m.step(func() error { return m.box.Put(ctx, letters) })
}

func (m *mortal) MarkKeys(ctx context.Context, sink string, keys []item.Key) error {
	return m.step(func() error { return m.marks.MarkKeys(ctx, sink, keys) })
}

// If a redrive crashes at any step and is started again, no change is lost. The second redrive repeats delivered
// changes before it delivers the rest.
func TestRun_DiesAtAnyStep(t *testing.T) {
	for steps := 1; steps <= 12; steps++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d after=%v", steps, after), func(t *testing.T) {
				w := newWorld(t)
				w.free.fail = func(c *record.Change) error {
					if nth(c) < 3 {
						return errBad
					}
					return nil
				}
				w.run(t, recordJSON("a", 1, text), recordJSON("b", 2, text), recordJSON("a", 3, ""), recordJSON("a", 4, text), recordJSON("b", 5, text))
				w.free.fail = nil
				w.free.take()
				m := &mortal{box: w.box, marks: w.marks, steps: steps, after: after}
				o := redrive.Options{Pipeline: w, Letters: m, Quarantine: m, Decoder: record.DecoderOptions{DynamoDBLocal: true}}
				_, err := redrive.Run(t.Context(), o)
				if err != nil && !errors.Is(err, errDies) {
					t.Fatal(err)
				}
				w.redrive(t, func(o *redrive.Options) { o.Decoder.DynamoDBLocal = true })
				got := w.free.take()
				seen := map[string]bool{}
				var first []string
				for _, c := range strings.Fields(got) {
					if !seen[c] {
						first = append(first, c)
					}
					seen[c] = true
				}
				if wrong := disorder(strings.Join(first, " ")); wrong != "" || len(first) != 5 {
					t.Errorf("delivered %s: %s", got, wrong)
				}
				if w.box.list() != "" || w.marks.list() != "" {
					t.Errorf("left: letters %s, marks %s", w.box.list(), w.marks.list())
				}
			})
		}
	}
}
