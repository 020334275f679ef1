package backfill

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

// open opens the source of a process, and returns the name of the source.
func (w *exportWorld) open(ctx context.Context, j *job) (string, error) {
	src, err := j.openSource(ctx)
	if err != nil {
		return "", err
	}
	return j.selection.stored.Source, src.Close(context.WithoutCancel(ctx))
}

// kill begins a process, and stops it after the answer to an operation.
func (w *exportWorld) kill(j *job, after string) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	w.called = func(op string) {
		if op == after {
			cancel()
		}
	}
	if _, err := w.open(ctx, j); !errors.Is(err, context.Canceled) {
		w.t.Fatalf("killed after %s: %v", after, err)
	}
	w.called = func(string) {}
}

// wantExport opens the source of a process. It wants that n exports were requested, and that the run reads the export
// with index first.
func (w *exportWorld) wantExport(j *job, n, first int) {
	w.t.Helper()
	want := "export s3://b/AWSDynamoDB/" + w.id(first) + "/"
	if source, err := w.open(w.t.Context(), j); err != nil || source != want || len(w.requests) != n {
		w.t.Errorf("the run reads %s after %d requests (%v), want %s after %d", source, len(w.requests), err, want, n)
	}
}

// The same command continues with the export that a killed process requested, while the export is made and after the
// run is stored. The token of the request does not suffice: DynamoDB forgets it after eight hours, and another
// --clock-skew would choose another time.
func TestKilledStartExport(t *testing.T) {
	for _, floor := range []bool{true, false} {
		for _, after := range []string{"ExportTableToPointInTime", "DescribeExport"} {
			w := newExportWorld(t)
			process := func(change func(*options)) *job {
				j := w.process(&bytes.Buffer{}, change)
				if !floor {
					j.selection.births[0].Floor = time.Time{}
				}
				return j
			}
			w.kill(process(nil), after)
			if after == "DescribeExport" {
				clear(w.byToken)
			}
			w.complete = true
			if !floor {
				time.Sleep(time.Second) // the export has the time of its first request
			}
			w.wantExport(process(nil), 1, 0)
			clear(w.byToken)
			w.wantExport(process(func(o *options) { o.clockSkew = time.Hour }), 1, 0)
			w.calls["DescribeExport"] = 0
			if w.wantExport(process(nil), 1, 0); w.calls["DescribeExport"] > 0 {
				t.Error("it waits for the export of a stored run")
			}
		}
	}
}

// A process with another --clock-skew waits for the export that another process requested, and says so.
func TestStartExportWaitsForTheNotedExport(t *testing.T) {
	w := newExportWorld(t)
	w.kill(w.process(&bytes.Buffer{}, nil), "DescribeExport")
	clear(w.byToken)
	looks := 0
	w.called = func(op string) {
		if op == "DescribeExport" {
			w.mu.Lock()
			looks++
			w.complete = looks > 1
			w.mu.Unlock()
		}
	}
	var said bytes.Buffer
	w.wantExport(w.process(&said, func(o *options) { o.clockSkew = time.Hour }), 1, 0)
	for _, want := range []string{"the export " + shopTable + "/export/" + w.id(0), "waiting for the export since"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("without %q it says %s", want, said.String())
		}
	}
}

// Processes that begin at the same time read the same export.
func TestStartExportAtOnce(t *testing.T) {
	w := newExportWorld(t)
	w.complete = true
	var work sync.WaitGroup
	sources := make([]string, 4)
	for i := range sources {
		j := w.process(&bytes.Buffer{}, nil)
		j.selection.births[0].Floor = time.Time{}
		work.Go(func() {
			var err error
			if sources[i], err = w.open(t.Context(), j); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	for _, s := range sources {
		if s != sources[0] || len(w.requests) != 1 {
			t.Errorf("of %d exports they read %q", len(w.requests), sources)
		}
	}
}

// After an export that failed, or a request that was refused, the same command requests another one.
func TestStartExportAfterAFailure(t *testing.T) {
	w := newExportWorld(t)
	w.failure = "S3NoSuchBucket"
	_, err := w.open(t.Context(), w.process(&bytes.Buffer{}, nil))
	if err == nil || !strings.Contains(err.Error(), "create the bucket") {
		t.Errorf("of a failed export it says %v", err)
	}
	w.failure, w.complete = "", true
	w.wantExport(w.process(&bytes.Buffer{}, nil), 2, 1)

	w = newExportWorld(t)
	w.complete, w.enabled = true, time.Now()
	j := w.process(&bytes.Buffer{}, nil)
	_, err = w.open(t.Context(), j)
	if err == nil || !strings.Contains(err.Error(), "point-in-time recovery reaches back to") {
		t.Errorf("of a floor before point-in-time recovery it says %v", err)
	}
	w.wantExport(w.process(&bytes.Buffer{}, nil), 1, 0)
}

// A run with other flags than those of its export is refused, and requests no export.
func TestStartExportOfOtherFlags(t *testing.T) {
	w := newExportWorld(t)
	w.kill(w.process(&bytes.Buffer{}, nil), "DescribeExport")
	other := func(change func(*options)) {
		t.Helper()
		_, err := w.open(t.Context(), w.process(&bytes.Buffer{}, change))
		if err == nil || !strings.Contains(err.Error(), "name the same") || len(w.requests) != 1 {
			t.Errorf("after %d requests: %v", len(w.requests), err)
		}
	}
	other(func(o *options) { o.prefix = "p" })
	other(func(o *options) { o.narrowing.Types = []string{"User"} })
	w.complete = true
	w.wantExport(w.process(&bytes.Buffer{}, nil), 1, 0)
	other(func(o *options) { o.bucket = "c" })
	other(func(o *options) { o.narrowing.Types = []string{"User"} })
	j := w.process(&bytes.Buffer{}, nil)
	j.selection.stored.Source = "scan " + shopTable + " segments 16 begun 2026-11-23T14:00:00Z"
	_, err := w.open(t.Context(), j)
	if err == nil || !strings.Contains(err.Error(), "reads scan") || len(w.requests) != 1 {
		t.Errorf("of a run that scans it says %v", err)
	}
}

// If a narrowing that only this program evaluates selects nothing, the correction reads the same export. An export for
// which DynamoDB evaluated the narrowing has no other items.
func TestCorrectionOfStartExport(t *testing.T) {
	for filter, reads := range map[string]bool{`item.Name.matches("^x")`: true, `item.Name == "x"`: false} {
		w := newExportWorld(t)
		w.complete = true
		j := w.process(&bytes.Buffer{}, func(o *options) { o.narrowing.Filter = filter })
		if _, err := w.open(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		want := "repeat the command with --export s3://b/AWSDynamoDB/" + w.id(0) + ", which has all items, in place of --start-export, --bucket and --prefix;"
		if text := j.narrowingCorrection(j.selection.names()); strings.Contains(text, want) != reads {
			t.Errorf("%s: it says %s", filter, text)
		}
	}
}
