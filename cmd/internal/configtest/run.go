package configtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
)

// maxTime bounds one case: a sink that never takes a change must not hang the run.
const maxTime = time.Minute

// Result is what came of one case.
type Result struct {
	Case        *Case
	Took        time.Duration
	Err         error        // the case could not be run
	Differences []Difference // between what was expected and what came
	Letters     []string     // where there are differences: the error of each dead letter, which may be why

	got []value // beside the case's expectations; where it has none, the whole of them
	all []expectation
}

// Passed tells whether everything came as expected.
func (r *Result) Passed() bool { return r.Err == nil && len(r.Differences) == 0 }

// Run runs cases, as many at a time as there are processors, and yields their results
// in order. The cases that are under way when the reading stops are waited for.
func Run(ctx context.Context, cfg *config.Config, cases []*Case) iter.Seq[*Result] {
	return func(yield func(*Result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		results := make([]chan *Result, len(cases))
		for i := range results {
			results[i] = make(chan *Result, 1)
		}
		var next atomic.Int64
		var workers sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				for i := next.Add(1) - 1; i < int64(len(cases)) && ctx.Err() == nil; i = next.Add(1) - 1 {
					results[i] <- runCase(ctx, cfg, cases[i])
				}
			})
		}
		defer workers.Wait()
		defer cancel()
		for _, r := range results {
			select {
			case result := <-r:
				if !yield(result) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func runCase(ctx context.Context, cfg *config.Config, c *Case) *Result {
	start := time.Now()
	r := &Result{Case: c}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("not finished after %v", maxTime))
	defer cancel()
	r.Err = r.run(ctx, cfg)
	r.Took = time.Since(start)
	return r
}

func (r *Result) run(ctx context.Context, cfg *config.Config) (err error) {
	dir, err := os.MkdirTemp(memory(), "tablewake-test-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := openStores(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p, err := sinks.Assemble(ctx, cfg, s, sinks.Finite(), sinks.WithBounds(1, 0, 0))
	if err != nil {
		return err
	}
	o := &outcome{cfg: cfg, keys: r.Case.keys, stores: s, raised: make(map[string][]value)}
	rec := &recorder{cfg: cfg}
	for i, st := range r.Case.Given {
		if err := o.give(ctx, p, rec, st); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	o.ledger = p.Ledger()
	if err := o.ledger.Check(); err != nil {
		return fmt.Errorf("the ledgers do not balance, which is a bug of tablewake: %w", err)
	}
	err = target.EachLetter(ctx, s.dir, slog.New(slog.DiscardHandler), func(l pipeline.DeadLetter) error {
		o.dead = append(o.dead, l)
		return nil
	})
	if err != nil {
		return err
	}
	return r.judge(ctx, o)
}

// memory is a folder of the machine's memory, where it has one: what a case writes
// does not outlive it, and waits for no disk. "" is the default of temporary files.
func memory() string {
	const shared = "/dev/shm"
	if os.Getenv("TMPDIR") != "" {
		return ""
	}
	if info, err := os.Stat(shared); err != nil || !info.IsDir() {
		return ""
	}
	probe, err := os.MkdirTemp(shared, "tablewake-test-")
	if err != nil {
		return ""
	}
	_ = os.Remove(probe)
	return shared
}

// give delivers one step, until all sinks are done with it.
func (o *outcome) give(ctx context.Context, p *pipeline.Pipeline, rec *recorder, s step) error {
	src, closeSource, err := rec.source(s)
	if err != nil {
		return err
	}
	defer closeSource()
	err = p.Run(ctx, pipeline.SourceFunc(func(ctx context.Context) (*pipeline.Page, error) {
		page, err := src.Read(ctx)
		if page != nil && page.Decode != nil {
			decoded, decodeErr := page.Decode()
			page, err = &pipeline.Page{Page: *decoded, Partition: page.Partition, Position: page.Position, End: page.End}, errors.Join(err, decodeErr)
		}
		if page != nil {
			for i := range page.Changes {
				o.see(p.Explain(&page.Changes[i]).Events)
			}
		}
		if errors.Is(err, io.EOF) {
			err = io.EOF
		}
		return page, err
	}), nil)
	if err != nil {
		return broken(s, err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// judge compares what came with what is expected. A case that expects nothing gets
// all that came, so that update can write it.
func (r *Result) judge(ctx context.Context, o *outcome) error {
	if r.Case.none {
		all, err := o.everything(ctx)
		r.all = all
		if err == nil {
			r.Differences = []Difference{{Line: r.Case.Line, Where: "expect", Lines: []string{"the test expects nothing; `tablewake test --update` writes what comes"}}}
		}
		return err
	}
	for _, x := range r.Case.Expect {
		got, err := o.part(ctx, x)
		if err != nil {
			return err
		}
		r.got = append(r.got, got)
		if lines := compare(x, got, o.identity(x)); len(lines) > 0 {
			r.Differences = append(r.Differences, Difference{Line: x.line, Where: x.String(), Lines: lines})
		}
	}
	if len(r.Differences) > 0 {
		r.Letters = o.errors()
	}
	return nil
}
