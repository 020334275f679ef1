// Package redrive delivers dead letters, each to the sink that it is of and to no
// other, and lets the keys go that are quarantined behind them.
//
// A sink whose writes carry no version sees each key's changes in their order: its key is
// held while its letters are delivered, the oldest first, and is let go on condition that
// nothing was put behind it meanwhile; where something was, it begins again. So a redrive
// may run while the pipeline runs, in this process or another. A letter that
// fails again stays, with its key's mark and all that is behind it. Where versions
// decide, letters need no mark, and one that fails keeps no other back.
//
// A letter is removed once the sink has it: a redrive that dies is started again, and
// delivers at most what it had delivered and not yet removed once more.
package redrive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/state"
)

// Pipeline is the sinks. A *pipeline.Pipeline is one, whether it runs or not.
type Pipeline interface {
	// Routes are the ways to the sinks.
	Routes() []pipeline.RouteInfo
	// Redeliver carries changes to one sink; see [pipeline.Pipeline.Redeliver].
	Redeliver(ctx context.Context, route string, cs []*pipeline.Change) ([]pipeline.Redelivery, error)
}

var _ Pipeline = (*pipeline.Pipeline)(nil)

// Options describe a redrive.
type Options struct {
	Pipeline   Pipeline         // required
	Letters    deadletter.Store // required
	Quarantine state.Quarantine // the marks of the pipeline. Default: none; keys are not held

	// Decoder is how records become changes. The stream and the table of a letter
	// that names its own are that letter's.
	Decoder pipeline.DecoderOptions

	Name    string       // letters of the pipeline of that name only. Default: of any
	Sink    string       // letters of that sink only. Default: of all
	Key     pipeline.Key // letters of that item only. Default: of all
	Classes []string     // letters of these classes only. Default: of all

	DryRun  bool // count, and deliver nothing
	Discard bool // remove the letters and deliver none: what they say is lost

	// To is the sink whose letters those of Sink become before they are delivered. Sink
	// must be one that the pipeline has no more, and To one that it has. Default: letters stay their sink's.
	To string

	Mask *pipeline.Mask // hides what is sensitive in Report.Failures. Default: nothing is

	Attempts int              // tries of a letter whose sink fails for now. Default: 5
	Backoff  pipeline.Backoff // between them. Default: that of Backoff
	Bytes    int64            // bytes of records held at once. Default: 32 MiB

	Progress func(Report) // told now and then. Default: nobody is
}

// batch is how many letters are delivered and removed together.
const batch = 500

// run is a redrive under way.
type run struct {
	Options
	report   Report
	routes   map[string]pipeline.RouteInfo
	decoders map[source]*pipeline.Decoder
	loaded   map[string]pipeline.DeadLetter // some of those to be delivered next
	failed   map[string]bool                // letters that failed for good, by their ID: not tried again
}

// Run redrives until no letter is left that can be delivered. What stays, and why,
// is in the report; the error is that the redrive itself could not go on, as when the
// letters or the marks cannot be read, or ctx is done. The report is good beside an
// error too.
//
// It lets go of letters that the store keeps for it ([deadletter.Releaser]).
func Run(ctx context.Context, o Options) (report Report, err error) {
	switch {
	case o.Pipeline == nil:
		return Report{}, errs.New("redrive: Pipeline is nil: give the pipeline of the sinks")
	case o.Letters == nil:
		return Report{}, errs.New("redrive: Letters is nil: give the store of the dead letters")
	case o.Attempts < 0 || o.Bytes < 0:
		return Report{}, errs.New("redrive: Attempts and Bytes must not be negative")
	}
	o.Attempts = cmp.Or(o.Attempts, 5)
	o.Bytes = cmp.Or(o.Bytes, 32<<20)
	r := &run{
		Options: o, routes: map[string]pipeline.RouteInfo{},
		decoders: map[source]*pipeline.Decoder{}, failed: map[string]bool{},
	}
	for _, info := range o.Pipeline.Routes() {
		r.routes[info.Name] = info
	}
	if err := r.checkSinks(); err != nil {
		return Report{}, fmt.Errorf("redrive: %w", err)
	}
	defer func() {
		if failed := release(ctx, o.Letters); failed != nil {
			err = errors.Join(err, fmt.Errorf("redrive: %w", failed))
		}
	}()
	if o.To != "" && !o.DryRun {
		if err := r.move(ctx); err != nil {
			return r.report, fmt.Errorf("redrive: %w", err)
		}
	}
	for repeat := true; repeat; {
		if repeat, err = r.pass(ctx); err != nil {
			return r.report, fmt.Errorf("redrive: %w", err)
		}
	}
	return r.report, nil
}

// release gives back what a store keeps for its reader, also when ctx is done.
func release(ctx context.Context, letters deadletter.Store) error {
	if l, ok := letters.(deadletter.Releaser); ok {
		return l.Release(context.WithoutCancel(ctx))
	}
	return nil
}

// asked tells whether a class is one that was asked for.
func (r *run) asked(class string) bool {
	return len(r.Classes) == 0 || slices.Contains(r.Classes, class)
}

// pass works through what is there now. It is true when more may have come meanwhile.
func (r *run) pass(ctx context.Context) (repeat bool, err error) {
	// The marks first: a letter is there before its mark, so that of all that a mark
	// counts now the letter is found below.
	marks, err := r.marks(ctx)
	if err != nil {
		return false, err
	}
	if err := r.decodeAgain(ctx); err != nil {
		return false, err
	}
	letters, err := r.sort(ctx, marks)
	if err != nil || r.DryRun {
		return false, err
	}
	for _, name := range r.sinks(letters) {
		more, err := r.work(ctx, name, letters[name])
		if err != nil {
			return false, err
		}
		repeat = repeat || more
	}
	return repeat, nil
}

// marks reads the marks that the redrive is about.
func (r *run) marks(ctx context.Context) (map[string]map[pipeline.Key]state.Mark, error) {
	marks := map[string]map[pipeline.Key]state.Mark{}
	if r.Quarantine == nil {
		return marks, nil
	}
	for m, err := range r.Quarantine.Marks(ctx, r.Sink) {
		if err != nil {
			return nil, err
		}
		if r.Key != "" && m.Key != r.Key {
			continue
		}
		if marks[m.Sink] == nil {
			marks[m.Sink] = map[pipeline.Key]state.Mark{}
		}
		marks[m.Sink][m.Key] = m
	}
	return marks, nil
}
