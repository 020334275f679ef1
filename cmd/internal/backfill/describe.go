package backfill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
)

// plannedRun is the output of `backfill --dry-run -o json` and `backfill --prepare -o json`.
type plannedRun struct {
	Sinks    []plannedSink `json:"sinks"`
	Source   string        `json:"source,omitempty"`
	Shown    *time.Time    `json:"shown,omitempty"` // the source shows the table as it was then or later
	Items    int64         `json:"items,omitempty"` // -1: unknown
	Bytes    int64         `json:"bytes,omitempty"` // -1: unknown
	Parts    int           `json:"parts,omitempty"`
	Earliest *time.Time    `json:"earliest,omitempty"` // the source must show the table as it was then or later
	Problem  string        `json:"problem,omitempty"`  // why the run would be refused
}

// plannedSink is a sink to fill.
type plannedSink struct {
	Sink   string `json:"sink"`
	Target string `json:"target"`
	Stage  string `json:"stage"`
}

func (j *job) newPlannedRun() plannedRun {
	var r plannedRun
	for _, b := range j.sel.births {
		r.Sinks = append(r.Sinks, plannedSink{b.Sink, b.Target, b.Stage.String()})
	}
	if at := j.sel.earliest(j.o.clockSkew); !at.IsZero() {
		r.Earliest = &at
	}
	return r
}

// describe prints what a run would do. It opens what is there, and creates nothing.
func (o *options) describe(ctx context.Context, s cli.Streams, cfg *config.Config) (err error) {
	j := &job{o: o, streams: s, cfg: cfg}
	births, stored, err := j.lookAtOutputs(ctx)
	if err != nil {
		return err
	}
	j.sel, err = selectSinks(cfg, births, stored, o.sinks)
	if errors.Is(err, errNothingToFill) {
		fmt.Fprintln(s.Err, err)
		return nil
	}
	if err != nil {
		return err
	}
	if o.Live || o.needsAWS() {
		if j.aws, err = target.LoadAWS(ctx); err != nil {
			return err
		}
	}
	return j.printDescription(ctx)
}

// lookAtOutputs returns the births of all outputs, and those that a start would make, and the stored backfills.
func (j *job) lookAtOutputs(ctx context.Context) (births []state.Birth, stored []state.Backfill, err error) {
	j.o.LookOnly = true
	changes := sinks.AddedOutputs(j.cfg)
	if _, missing := os.Stat(j.o.Local); j.o.Live || missing == nil {
		opened, openErr := j.o.OpenWritten(ctx, j.cfg, j.streams.Err)
		if openErr != nil {
			return nil, nil, openErr
		}
		defer func() { err = errors.Join(err, opened.Close()) }()
		found, err := sinks.CompareOutputs(ctx, j.cfg, opened)
		switch {
		case errors.Is(err, dynamo.ErrNoTable): // the pipeline never ran
		case err != nil:
			return nil, nil, err
		default:
			changes = found
			kept, err := opened.State(ctx, j.cfg)
			if err != nil {
				return nil, nil, err
			}
			if stored, err = collect(kept.Backfills(ctx)); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, c := range changes {
		b := c.Birth
		if b.Sink == "" {
			b.Sink, b.Target = c.Sink, c.Target
			if c.Waits {
				b.Stage = state.Waiting
			}
		}
		births = append(births, b)
	}
	return births, stored, nil
}

// printDescription prints what a run would do.
func (j *job) printDescription(ctx context.Context) error {
	r := j.newPlannedRun()
	if j.sel.hasWaiting() && j.o.Live && r.Earliest == nil {
		at := time.Now().UTC().Truncate(time.Second).Add(j.o.floorDelay + j.o.clockSkew)
		r.Earliest = &at
	}
	switch {
	case len(j.o.archive) > 0:
		r.Source = "history " + strings.Join(j.o.archive, " ")
	case j.o.startExport:
		r.Source = "a new export into s3://" + j.o.bucket + "/" + j.o.prefix
	default:
		snap, err := j.openForDescription(ctx)
		if err != nil {
			return err
		}
		info := snap.Info()
		r.Source, r.Items, r.Bytes, r.Parts = j.sourceName(info), info.Items, info.Bytes, len(snap.Parts())
		if !info.Time.IsZero() && !j.o.scan {
			r.Shown = &info.Time
			switch {
			case j.sel.hasWaiting():
				r.Problem = "a sink waits, and has no floor: set it with --prepare, and export the table as of the time that it says"
			case r.Earliest != nil && info.Time.Before(*r.Earliest):
				r.Problem = "the source shows the table before " + r.Earliest.Format(time.RFC3339) + ", when the stream begins to write to the sinks"
			}
		}
	}
	return cli.Print(j.streams.Out, j.o.format, r, func(w io.Writer) { r.write(w) })
}

// openForDescription opens the snapshot without waiting for the floor.
func (j *job) openForDescription(ctx context.Context) (snapshot.Snapshot, error) {
	look := *j
	look.sel = &selection{births: []state.Birth{}, run: j.sel.run, begun: j.sel.begun, stored: j.sel.stored}
	return look.openSnapshot(ctx)
}

// printPrepared prints the floor.
func (j *job) printPrepared() error {
	r := j.newPlannedRun()
	return cli.Print(j.streams.Out, j.o.format, r, func(w io.Writer) { r.write(w) })
}

func (r *plannedRun) write(w io.Writer) {
	for _, s := range r.Sinks {
		fmt.Fprintf(w, "fill %s (%s), which is %s\n", s.Sink, s.Target, s.Stage)
	}
	if r.Source != "" {
		fmt.Fprintf(w, "from %s", r.Source)
		if r.Parts > 0 {
			fmt.Fprintf(w, ": %d parts", r.Parts)
		}
		if r.Items > 0 {
			fmt.Fprintf(w, ", %s items", cli.Thousands(r.Items))
		}
		if r.Bytes > 0 {
			fmt.Fprintf(w, ", %s bytes", cli.Thousands(r.Bytes))
		}
		fmt.Fprintln(w)
	}
	if r.Shown != nil {
		fmt.Fprintf(w, "it shows the table of %s\n", r.Shown.UTC().Format(time.RFC3339))
	}
	if r.Earliest != nil {
		fmt.Fprintf(w, "the source must show the table of %s or later\n", r.Earliest.Format(time.RFC3339))
	}
	if r.Problem != "" {
		fmt.Fprintf(w, "this is refused: %s\n", r.Problem)
	}
}
