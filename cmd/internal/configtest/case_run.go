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
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
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
	Err  error `json:"-"` // why the case could not be run

	// actual has the actual contents, one for each expectation of the case. If the case has no `expect`, actual has all
	// contents that are not empty.
	actual []expectation
}

// Passed reports whether the actual contents are as expected.
func (r *Result) Passed() bool { return r.Err == nil && len(r.Differences) == 0 }

// Run runs cases in parallel, and returns their results in the order of cases. opts are the options of each case's
// pipeline. If ctx ends, the results of cases that did not run are nil.
func Run(ctx context.Context, cfg *config.Config, cases []*Case, opts ...sinks.Option) []*Result {
	results := make([]*Result, len(cases))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(cases) {
					return
				}
				results[i] = runCase(ctx, cfg, cases[i], opts)
			}
		})
	}
	workers.Wait()
	return results
}

func runCase(ctx context.Context, cfg *config.Config, c *Case, opts []sinks.Option) *Result {
	start := time.Now()
	r := &Result{Line: c.Line, Name: c.Name, Outcome: "pass", Case: c}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("not finished after %v", maxTime))
	defer cancel()
	r.Err = r.run(ctx, cfg, opts)
	if !r.Passed() {
		r.Outcome, r.Error = "fail", cli.ErrorText(r.Err)
	}
	r.Seconds = time.Since(start).Seconds()
	return r
}

// run runs the case over empty stores, and sets the differences, the dead letters and the actual contents.
func (r *Result) run(ctx context.Context, cfg *config.Config, opts []sinks.Option) (err error) {
	dir, err := makeStoreDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	opened, err := local.Open(dir)
	if err != nil {
		return err
	}
	s := &stores{opened}
	defer func() { err = errors.Join(err, s.Close()) }()
	p, err := sinks.Assemble(ctx, cfg, s, append(slices.Clip(opts), sinks.Finite(), sinks.WithBounds(1, 0, 0))...)
	if err != nil {
		return err
	}

	o := &outcome{cfg: cfg, keys: r.Case.keys, stores: s, raisedEvents: make(map[string][]item.Value)}
	records := &recorder{cfg: cfg}
	for i, given := range r.Case.Given {
		if err := o.runStep(ctx, p, records, given); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}

	o.ledger = p.Ledger()
	if err := o.ledger.Check(); err != nil {
		return fmt.Errorf("the ledgers do not balance, which is a bug of tablewake: %w", err)
	}
	for l, err := range target.Letters(ctx, s.Dir(), slog.New(slog.DiscardHandler)) {
		if err != nil {
			return err
		}
		o.deadLetters = append(o.deadLetters, l)
	}
	return r.compareExpectations(ctx, o)
}

// makeStoreDir makes a folder for the stores of a case. The folder is in memory, so that writes need no disk. If TMPDIR
// is set, or the machine has no folder in memory, it is in the usual folder for temporary files.
func makeStoreDir() (string, error) {
	const inMemory, name = "/dev/shm", "tablewake-test-"
	if os.Getenv("TMPDIR") == "" {
		if dir, err := os.MkdirTemp(inMemory, name); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", name)
}

// runStep runs the pipeline over the changes of one step until all sinks are finished.
func (o *outcome) runStep(ctx context.Context, p *pipeline.Pipeline, records *recorder, s step) error {
	src, err := records.source(s)
	if err != nil {
		return err
	}
	defer src.Close()
	err = p.Run(ctx, pipeline.SourceFunc(func(ctx context.Context) (*pipeline.Page, error) {
		page, err := readDecoded(ctx, src)
		if page != nil {
			o.addEvents(p, page.Changes)
		}
		return page, err
	}), nil)

	if _, isBroken := errors.AsType[*replay.BrokenError](err); isBroken && s.firstLine > 0 {
		return fmt.Errorf("lines %d-%d of %s: %w", s.firstLine, s.lastLine, s.Fixture, err)
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// readDecoded reads the next page of a source, and decodes it. The page is nil if the source returns none.
func readDecoded(ctx context.Context, src pipeline.Source) (*pipeline.Page, error) {
	page, err := src.Read(ctx)
	if page == nil || page.Decode == nil {
		return page, err
	}
	decoded, decodeErr := page.Decoded()
	page = &pipeline.Page{Page: *decoded, Partition: page.Partition, Position: page.Position, End: page.End}
	return page, cmp.Or(decodeErr, err)
}

// compareExpectations compares the actual contents with the expectations. A case without `expect` fails, and gets the
// contents of all sinks, so that Update can write them.
func (r *Result) compareExpectations(ctx context.Context, o *outcome) error {
	expectations := r.Case.Expect
	expectsNothing := len(expectations) == 0
	if expectsNothing {
		expectations = allExpectations(o.cfg)
	}
	for _, expected := range expectations {
		actual := expected
		var err error
		if actual.contents, err = o.actualContents(ctx, expected); err != nil {
			return err
		}
		r.actual = append(r.actual, actual)
		if lines := compare(expected, actual.contents, o.identity(expected)); len(lines) > 0 {
			r.Differences = append(r.Differences, Difference{expected.line, expected.String(), lines})
		}
	}
	switch {
	case expectsNothing:
		r.actual = slices.DeleteFunc(r.actual, func(x expectation) bool { return len(x.contents.list) == 0 })
		r.Differences = []Difference{{r.Case.Line, "expect",
			[]string{"the test expects nothing; `tablewake test --update` writes what comes"}}}
	case len(r.Differences) > 0:
		r.Letters = o.letterTexts()
	}
	return nil
}

// stores are the embedded stores of one case. After the run, outcome reads the same open stores.
type stores struct{ *local.Stores }

var _ sinks.Stores = (*stores)(nil)

// Archive opens a separate bucket for each sink. Thus a test can expect the objects of one sink, even if several sinks
// share a bucket.
func (s *stores) Archive(ctx context.Context, cfg *config.Config, spec config.Sink) (archive.Store, error) {
	own := *spec.Archive
	own.Bucket, spec.Archive = spec.Name, &own
	return s.Stores.Archive(ctx, cfg, spec)
}
