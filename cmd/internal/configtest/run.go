package configtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
)

// maxTime limits the time of one case, because a sink may never accept a change.
const maxTime = time.Minute

// Result is the result of one case, as `test -o json` prints it.
type Result struct {
	File        string       `json:"file"`
	Line        int          `json:"line"`
	Name        string       `json:"name"`
	Outcome     string       `json:"result"` // pass, fail or updated
	Seconds     float64      `json:"seconds"`
	Error       string       `json:"error,omitempty"` // text of Err
	Differences []Difference `json:"differences,omitempty"`
	Letters     []string     `json:"letters,omitempty"` // if the case fails: errors of the dead letters

	Case *Case `json:"-"`
	Err  error `json:"-"` // the case could not be run

	// got has the actual contents, one for each expectation of the case. If the case has no `expect`, got has all
	// contents that are not empty.
	got []expectation
}

// Passed reports whether the actual contents are as expected.
func (r *Result) Passed() bool { return r.Err == nil && len(r.Differences) == 0 }

// Run runs cases in parallel, in pipelines with the options, and returns their results in order. If ctx ends, the
// results of cases that did not run are nil.
func Run(ctx context.Context, cfg *config.Config, cases []*Case, opts ...sinks.Option) []*Result {
	results := make([]*Result, len(cases))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(cases)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				start, c := time.Now(), cases[i]
				r := &Result{Line: c.Line, Name: c.Name, Outcome: "pass", Case: c}
				ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("not finished after %v", maxTime))
				r.Err = r.run(ctx, cfg, opts)
				cancel()
				if !r.Passed() {
					r.Outcome, r.Error = "fail", cli.ErrorText(r.Err)
				}
				r.Seconds, results[i] = time.Since(start).Seconds(), r
			}
		})
	}
	workers.Wait()
	return results
}

func (r *Result) run(ctx context.Context, cfg *config.Config, opts []sinks.Option) (err error) {
	dir, err := os.MkdirTemp(memoryDir(), "tablewake-test-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	opened, err := local.Open(dir)
	if err != nil {
		return err
	}
	s := &stores{opened, local.Dir(dir), make(map[string]*index)}
	defer func() { err = errors.Join(err, s.Close()) }()
	p, err := sinks.Assemble(ctx, cfg, s, append(slices.Clip(opts), sinks.Finite(), sinks.WithBounds(1, 0, 0))...)
	if err != nil {
		return err
	}
	o := &outcome{cfg: cfg, keys: r.Case.keys, stores: s, raisedEvents: make(map[string][]value)}
	rec := &recorder{cfg: cfg}
	for i, st := range r.Case.Given {
		if err := o.runStep(ctx, p, rec, st); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	o.ledger = p.Ledger()
	if err := o.ledger.Check(); err != nil {
		return fmt.Errorf("the ledgers do not balance, which is a bug of tablewake: %w", err)
	}
	err = target.EachLetter(ctx, s.dir, slog.New(slog.DiscardHandler), func(l pipeline.DeadLetter) error {
		o.deadLetters = append(o.deadLetters, l)
		return nil
	})
	if err != nil {
		return err
	}
	return r.compareExpectations(ctx, o)
}

// memoryDir returns a folder in memory for the stores of a case, so that writes need no disk. It returns "", the
// default folder, if the machine has no such folder, or if TMPDIR names another one.
func memoryDir() string {
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

// runStep runs the pipeline over the changes of one step until all sinks are finished.
func (o *outcome) runStep(ctx context.Context, p *pipeline.Pipeline, rec *recorder, s step) error {
	src, closeSource, err := rec.source(s)
	if err != nil {
		return err
	}
	defer closeSource()
	err = p.Run(ctx, pipeline.SourceFunc(func(ctx context.Context) (*pipeline.Page, error) {
		page, err := src.Read(ctx)
		if page == nil {
			return nil, err
		}
		if page.Decode != nil {
			decoded, decodeErr := page.Decoded()
			page, err = &pipeline.Page{Page: *decoded, Partition: page.Partition, Position: page.Position, End: page.End},
				cmp.Or(decodeErr, err)
		}
		for i := range page.Changes {
			o.addEvents(p.Explain(&page.Changes[i]).Events)
		}
		return page, err
	}), nil)
	if err != nil {
		if _, ok := errors.AsType[*replay.BrokenError](err); ok && s.firstLine > 0 {
			return fmt.Errorf("lines %d-%d of %s: %w", s.firstLine, s.lastLine, s.Fixture, err)
		}
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// compareExpectations compares the actual contents with the expectations. For a case without `expect` it stores all
// contents, so that Update can write them.
func (r *Result) compareExpectations(ctx context.Context, o *outcome) error {
	expected := r.Case.Expect
	if r.Case.noExpect {
		expected = allExpectations(o.cfg)
	}
	for _, x := range expected {
		got := x
		var err error
		if got.want, err = o.actualValue(ctx, x); err != nil {
			return err
		}
		if r.Case.noExpect && len(got.want.elems) == 0 {
			continue
		}
		r.got = append(r.got, got)
		if lines := compare(x, got.want, o.keyFunc(x)); len(lines) > 0 {
			r.Differences = append(r.Differences, Difference{Line: x.line, Where: x.String(), Lines: lines})
		}
	}
	switch {
	case r.Case.noExpect:
		r.Differences = []Difference{{Line: r.Case.Line, Where: "expect",
			Lines: []string{"the test expects nothing; `tablewake test --update` writes what comes"}}}
	case len(r.Differences) > 0:
		r.Letters = o.letterTexts()
	}
	return nil
}
