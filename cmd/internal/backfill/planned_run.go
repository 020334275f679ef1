package backfill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
)

// plannedRun is the output of `backfill --dry-run -o json` and `backfill --prepare -o json`.
type plannedRun struct {
	Sinks              []plannedSink `json:"sinks"`
	Source             string        `json:"source,omitempty"`
	SourceTime         *time.Time    `json:"shown,omitempty"` // the source shows the table at this time or later
	Items              int64         `json:"items,omitempty"` // -1: unknown
	Bytes              int64         `json:"bytes,omitempty"` // -1: unknown
	Parts              int           `json:"parts,omitempty"`
	Narrowed           bool          `json:"narrowed,omitempty"` // Items and Bytes count the left-out items too
	EarliestSourceTime *time.Time    `json:"earliest,omitempty"` // the source must show the table at this time or later
	Problems           []string      `json:"problems,omitempty"` // reasons why the run would be refused

	refusal error // the first of Problems; nil if there is none
}

// plannedSink is a sink to fill.
type plannedSink struct {
	Sink   string `json:"sink"`
	Target string `json:"target"`
	Stage  string `json:"stage"`
}

// addSelection adds the sinks and their floor.
func (j *job) addSelection(r *plannedRun) {
	for _, b := range j.selection.births {
		r.Sinks = append(r.Sinks, plannedSink{b.Sink, b.Target, b.Stage.String()})
	}
	if at := j.selection.earliestSourceTime(j.o.clockSkew); !at.IsZero() {
		r.EarliestSourceTime = &at
	}
}

// describe prints the plan of a run. It opens existing stores, and creates nothing.
func (j *job) describe(ctx context.Context) (err error) {
	j.stores = &target.Stores{}
	births, stored, r, err := j.readOutputs(ctx)
	defer func() { err = errors.Join(err, j.stores.Close()) }()
	if err != nil {
		return err
	}
	if j.selection, err = selectSinks(j.allSinks(), births, stored, j.o.sinks); err != nil {
		return err
	}
	if err := j.loadAWS(ctx); err != nil {
		return err
	}
	return j.printDescription(ctx, r)
}

// readOutputs opens j.stores, and returns the births of all outputs and the stored backfills. The birth of an output is
// its recorded identity. births also has the births that a start of the pipeline would record. r.Problems has the
// reasons why a start would be refused.
func (j *job) readOutputs(
	ctx context.Context,
) (births []state.Birth, stored []state.Backfill, r plannedRun, err error) {
	j.o.ReadOnly = true
	changes := sinks.AddedOutputs(j.cfg)
	_, statErr := os.Stat(j.o.Local)
	hasStores := j.o.Live || statErr == nil
	if hasStores {
		if changes, stored, err = j.readStoredOutputs(ctx); err != nil {
			return nil, nil, r, err
		}
	}
	for _, c := range changes {
		if c.Kind == sinks.Changed && !c.TakesSettings {
			r.addProblem(
				fmt.Errorf("the sink %s was written under other settings, or its output is lost: see `tablewake plan`", c.Sink))
		}
		births = append(births, birthAfterStart(c))
	}
	goBirths, err := j.readGoSinks(ctx)
	return append(births, goBirths...), stored, r, err
}

// readStoredOutputs opens the stores, and returns the outputs and the backfills in them.
func (j *job) readStoredOutputs(ctx context.Context) ([]sinks.OutputChange, []state.Backfill, error) {
	opened, err := j.o.OpenExisting(ctx, j.cfg, j.streams.Err)
	if err != nil {
		return nil, nil, err
	}
	j.stores = opened
	changes, err := sinks.CompareOutputs(ctx, j.cfg, opened)
	if errors.Is(err, dynamo.ErrNoTable) { // the pipeline never ran
		return sinks.AddedOutputs(j.cfg), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if j.stateStore, err = opened.State(ctx, j.cfg); err != nil {
		return nil, nil, err
	}
	stored, err := stream.Collect(j.stateStore.Backfills(ctx))
	return changes, stored, err
}

// birthAfterStart returns the birth that an output would have after a start.
func birthAfterStart(c sinks.OutputChange) state.Birth {
	switch {
	case c.WaitsForBackfill:
		return state.Birth{Sink: c.Sink, Target: c.Target, Stage: state.Waiting}
	case c.Birth.Sink == "":
		return state.Birth{Sink: c.Sink, Target: c.Target}
	}
	return c.Birth
}

// readGoSinks returns the stored births of Go sinks. For a Go sink that --sink names and that has no birth, it returns
// the birth that a start would record.
func (j *job) readGoSinks(ctx context.Context) (births []state.Birth, err error) {
	for _, s := range j.allSinks() {
		if s.Custom == nil {
			continue
		}
		var b state.Birth
		hasBirth := false
		if j.stateStore != nil {
			if b, hasBirth, err = state.FindBirth(ctx, j.stateStore, s.Name, sinks.Target(s)); err != nil {
				return nil, err
			}
		}
		switch {
		case hasBirth:
			births = append(births, b)
		case slices.Contains(j.o.sinks, s.Name):
			births = append(births, state.Birth{Sink: s.Name, Target: sinks.Target(s)})
		}
	}
	return births, nil
}

// addProblem adds the reason why the run would be refused, if there is one.
func (r *plannedRun) addProblem(err error) {
	if err != nil {
		r.Problems, r.refusal = append(r.Problems, err.Error()), cmp.Or(r.refusal, err)
	}
}

// printDescription prints the plan of a run, and the reasons why it would be refused. In that case the returned error
// has the exit code of the run.
func (j *job) printDescription(ctx context.Context, r plannedRun) error {
	j.addSelection(&r)
	if j.selection.hasWaiting() && j.o.Live && r.EarliestSourceTime == nil {
		r.EarliestSourceTime = new(time.Now().UTC().Truncate(time.Second).Add(j.o.floorDelay + j.o.clockSkew))
	}
	for _, err := range j.refusals() {
		r.addProblem(err)
	}
	if j.selection.missesChanges() {
		r.addProblem(j.proveRoutes(ctx))
	}
	r.addProblem(j.checkStream(ctx))
	if err := j.addSource(ctx, &r); err != nil {
		return err
	}
	if err := cli.Print(j.streams.Out, j.o.format, r, r.write); err != nil || r.refusal == nil {
		return err
	}
	return cli.WithExitCode(cli.ExitCode(r.refusal), nil)
}

// addSource adds the source, and the reasons why the run would refuse it.
func (j *job) addSource(ctx context.Context, r *plannedRun) error {
	switch {
	case len(j.o.archive) > 0:
		r.Source = j.archiveName()
		r.addProblem(j.checkSource(r.Source))
	case j.o.startExport && !j.selection.isStored():
		r.addProblem(j.resolveKeys(ctx))
		source, err := j.describeExport(ctx)
		if err != nil {
			return err
		}
		r.Source = j.withNarrowing(source)
	default:
		return j.addSnapshot(ctx, r)
	}
	return nil
}

// addSnapshot is [job.addSource] for a snapshot that exists.
func (j *job) addSnapshot(ctx context.Context, r *plannedRun) error {
	snap, err := j.openSnapshot(ctx)
	isRefusedFile := err != nil && len(j.o.items) > 0 && cli.ExitCode(err) == cli.ExitFailure && ctx.Err() == nil
	switch {
	case isRefusedFile:
		r.addProblem(err)
		return nil
	case err != nil:
		return err
	}
	info := snap.Info()
	r.Source, r.Items, r.Bytes, r.Parts = j.withNarrowing(info.Source), info.Items, info.Bytes, len(snap.Parts())
	r.Narrowed = j.narrowing.String() != ""
	if j.selection.isStored() {
		r.addProblem(j.checkSource(r.Source))
		r.addProblem(j.checkAge(ctx))
	}
	if j.o.scan { // the scan begins when the floor has passed
		return nil
	}
	if !info.Time.IsZero() {
		r.SourceTime = &info.Time
	}
	for _, check := range j.sourceChecks(ctx, snap) {
		r.addProblem(check())
	}
	return nil
}

func (r *plannedRun) write(w io.Writer) {
	for _, s := range r.Sinks {
		fmt.Fprintf(w, "fill %s (%s), which is %s\n", s.Sink, strings.TrimSpace(s.Target), s.Stage)
	}
	if r.Source != "" {
		fmt.Fprintln(w, r.sourceText())
	}
	if r.SourceTime != nil {
		fmt.Fprintf(w, "it shows the table of %s\n", r.SourceTime.UTC().Format(time.RFC3339))
	}
	if r.EarliestSourceTime != nil {
		fmt.Fprintf(w, "the source must show the table as of %s or later\n", r.EarliestSourceTime.Format(time.RFC3339))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "this is refused: %s\n", p)
	}
}

// sourceText describes the source and its known sizes.
func (r *plannedRun) sourceText() string {
	text := "from " + r.Source
	if r.Parts > 0 {
		text += ": " + cli.Count(r.Parts, "part")
	}
	if r.Items > 0 {
		text += ", " + cli.Count(r.Items, "item")
	}
	if r.Bytes > 0 {
		text += ", " + cli.Count(r.Bytes, "byte")
	}
	hasSize := r.Items > 0 || r.Bytes > 0
	if r.Narrowed && hasSize {
		text += " before narrowing"
	}
	return text
}
