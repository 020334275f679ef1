package backfill

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/shardreader/snapshot"
	"github.com/tablewake/tablewake/sinks/state"
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

// describe prints what a run would do.
func (j *job) describe(ctx context.Context) error {
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
			if r.Earliest != nil && info.Time.Before(*r.Earliest) {
				r.Problem = "the source shows the table before " + r.Earliest.Format(time.RFC3339) + ", when the stream begins to write to the sinks that wait"
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
