package backfill

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/sinks/state"
)

// settling returns a process that is to end a run whose parts are all read.
func (w *exportWorld) settling(stdout *bytes.Buffer) *job {
	w.t.Helper()
	j := w.process(&bytes.Buffer{}, nil)
	j.streams.Out = stdout
	b := state.Birth{
		Sink: "users", Target: "table rows", ID: "b", Made: time.Now().UTC().Truncate(time.Second),
		Stage: state.Settling, Run: "run", ReadUntil: time.Now().UTC().Truncate(time.Second),
	}
	b, err := w.kept.RecordBirth(w.t.Context(), b)
	if err != nil {
		w.t.Fatal(err)
	}
	j.sel.births = []state.Birth{b}
	return j
}

// stage returns the stored stage of the sink.
func (w *exportWorld) stage() (stage state.Stage) {
	w.t.Helper()
	for b, err := range w.kept.Births(w.t.Context()) {
		if err != nil {
			w.t.Fatal(err)
		}
		return b.Stage
	}
	w.t.Fatal("no birth is stored")
	return stage
}

// Where Lambda reads the stream, the result says that --lag is assumed.
func TestAssumedLag(t *testing.T) {
	for format, want := range map[cli.Format]string{
		cli.FormatText: "assumed: the Lambda function is never more than 1s behind the stream\nusers: live\n",
		cli.FormatJSON: `"assumed":"the Lambda function is never more than 1s behind the stream"`,
	} {
		w, out := newExportWorld(t), &bytes.Buffer{}
		j := w.settling(out)
		j.o.lag, j.o.format = time.Second, format
		if err := j.finish(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) || w.stage() != state.Live {
			t.Errorf("%s, and the sink is %s, want %s", out, w.stage(), want)
		}
	}
	if j := (&job{o: &options{}}); j.assumed() != "" {
		t.Error("a folder assumes a lag")
	}
}
