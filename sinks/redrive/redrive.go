// Package redrive delivers dead letters, which are stored changes that failed, to the sinks that they belong to. It
// also ends the quarantine of their keys.
//
// A sink that does not compare versions must get the changes of a key in order. A redrive delivers the letters of such
// a key from the oldest to the newest. Meanwhile the key stays quarantined: it has a mark, and the pipeline stores new
// changes of the key as letters. The mark counts these letters. After the last letter the redrive clears the mark. If
// the pipeline has counted another letter meanwhile, the mark stays, and the redrive reads the letters again. So a
// redrive may run while the pipeline runs, in this process or another.
//
// If a letter fails again, it stays, with the mark and the later letters of its key. If the sink compares versions,
// letters need no mark, and a letter that fails does not block other letters.
//
// A redrive removes a letter only after the sink has it. A redrive that was interrupted can be started again. The
// second run delivers a letter twice only if the first run delivered it and did not remove it.
package redrive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/state"
)

// errs makes this package's errors. Their redacted text holds no data.
const errs = redact.Class("redrive")

// Pipeline has the sinks. A *pipeline.Pipeline implements it, whether it runs or not.
type Pipeline interface {
	// Routes returns the routes to the sinks.
	Routes() []pipeline.RouteInfo
	// Redeliver delivers changes to one sink; see [pipeline.Pipeline.Redeliver].
	Redeliver(ctx context.Context, route string, cs []*record.Change) ([]pipeline.Redelivery, error)
}

var _ Pipeline = (*pipeline.Pipeline)(nil)

// Options are the options of [Run].
type Options struct {
	Pipeline   Pipeline         // required
	Letters    deadletter.Store // required
	Quarantine state.Quarantine // marks of the pipeline's quarantined keys. Default: none; no key is quarantined

	// Decoder has the options for decoding records. The stream and the table that a letter names replace those of
	// Decoder.
	Decoder record.DecoderOptions

	Name    string   // only letters of this pipeline. Default: all
	Sink    string   // only letters of this sink. Default: all
	Key     item.Key // only letters of this item. Default: all
	Classes []string // only letters of these classes. Default: all

	DryRun  bool // count letters without delivering them
	Discard bool // remove letters without delivering them: their changes are lost

	// To is the sink that takes over the letters of Sink before they are delivered. Sink must not be in the pipeline
	// any more, and To must be. Default: letters keep their sink.
	To string

	Mask *mask.Mask // masks sensitive attributes in Report.Failures. Default: nothing is masked

	Attempts int              // tries of a letter that fails temporarily. Default: 5
	Backoff  pipeline.Backoff // wait between the tries. Default: the default of Backoff
	Bytes    int64            // maximum bytes of records in memory. Default: 32 MiB

	Progress func(Report) // receives the report during the redrive. Default: none
}

// batchSize is the number of letters that are delivered and removed together.
const batchSize = 500

// run is a running redrive.
type run struct {
	Options
	report   Report                 // without Sinks; see result
	sinks    map[string]*SinkReport // by name
	routes   map[string]pipeline.RouteInfo
	decoders map[source]*record.Decoder
	readIDs  map[string]bool                // IDs of the letters that sort has read in this pass
	loaded   map[string]pipeline.DeadLetter // letters to deliver next, with their records, by ID
	failed   map[string]bool                // IDs of letters that failed in this redrive; they are not tried again
	moved    string                         // the sink whose letters are moved to To; "" if To is not set
}

// newRun checks the options, and sets their defaults.
func newRun(o Options) (*run, error) {
	switch {
	case o.Pipeline == nil:
		return nil, errs.New("redrive: Pipeline is nil: give the pipeline of the sinks")
	case o.Letters == nil:
		return nil, errs.New("redrive: Letters is nil: give the store of the dead letters")
	case o.Attempts < 0 || o.Bytes < 0:
		return nil, errs.New("redrive: Attempts and Bytes must not be negative")
	}
	o.Attempts = cmp.Or(o.Attempts, 5)
	o.Bytes = cmp.Or(o.Bytes, 32<<20)
	r := &run{
		Options: o, routes: map[string]pipeline.RouteInfo{},
		decoders: map[source]*record.Decoder{}, failed: map[string]bool{}, sinks: map[string]*SinkReport{},
	}
	if o.To != "" {
		r.moved = o.Sink
	}
	for _, info := range o.Pipeline.Routes() {
		r.routes[info.Name] = info
	}
	if err := r.checkSinks(); err != nil {
		return nil, fmt.Errorf("redrive: %w", err)
	}
	return r, nil
}

// Run delivers letters until no letter is left that can be delivered. The report says which letters stay, and why. An
// error means that the redrive itself could not continue: for example, the letters or the marks cannot be read, or ctx
// is done. The report is also valid if there is an error.
//
// Some stores reserve letters for a reader. Run ends this reservation before it returns ([deadletter.Releaser]).
func Run(ctx context.Context, o Options) (report Report, err error) {
	r, err := newRun(o)
	if err != nil {
		return Report{}, err
	}
	defer func() {
		if releaseErr := deadletter.Release(ctx, o.Letters); releaseErr != nil {
			err = errors.Join(err, fmt.Errorf("redrive: %w", releaseErr))
		}
	}()
	if o.To != "" && !o.DryRun {
		if err := r.move(ctx); err != nil {
			return r.result(), fmt.Errorf("redrive: %w", err)
		}
	}
	for repeat := true; repeat; {
		if repeat, err = r.runPass(ctx); err != nil {
			return r.result(), fmt.Errorf("redrive: %w", err)
		}
	}
	return r.result(), nil
}

// isSelected reports whether the redrive selects letters of a class.
func (r *run) isSelected(class string) bool {
	return len(r.Classes) == 0 || slices.Contains(r.Classes, class)
}

// runPass reads all letters once, and delivers those that can be delivered. repeat is true if another pass is needed,
// because letters may have come meanwhile or keys were not quarantined yet.
func (r *run) runPass(ctx context.Context) (repeat bool, err error) {
	// The pipeline stores a letter before the mark of its key counts the letter. The marks are read before the letters,
	// so every letter that a mark counts is read.
	marks, err := r.readMarks(ctx)
	if err != nil {
		return false, err
	}
	if err := r.decodeAgain(ctx); err != nil {
		return false, err
	}
	keysBySink, err := r.sort(ctx, marks)
	if err != nil || r.DryRun {
		return false, err
	}
	for _, sink := range slices.Sorted(maps.Keys(keysBySink)) {
		repeatSink, err := r.deliverSink(ctx, sink, keysBySink[sink])
		if err != nil {
			return false, err
		}
		repeat = repeat || repeatSink
	}
	return repeat, nil
}

// readMarks reads the marks of the selected sinks and keys.
func (r *run) readMarks(ctx context.Context) (map[sinkKey]state.Mark, error) {
	marks := map[sinkKey]state.Mark{}
	if r.Quarantine == nil {
		return marks, nil
	}
	for mark, err := range r.Quarantine.Marks(ctx, r.Sink) {
		if err != nil {
			return nil, err
		}
		if r.Key == "" || mark.Key == r.Key {
			marks[sinkKey{mark.Sink, mark.Key}] = mark
		}
	}
	return marks, nil
}
