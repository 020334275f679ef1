package backfill

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader/leases"
	leasesfile "github.com/tablewake/tablewake/shardreader/leases/file"
	"github.com/tablewake/tablewake/sinks/state"
)

// settling returns a process whose run has read all parts and has to end.
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
	j.selection.births = []state.Birth{b}
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

// If Lambda reads the stream, the result says that --lag is assumed.
func TestAssumedLag(t *testing.T) {
	for format, want := range map[cli.Format]string{
		cli.FormatText: "assumed: the Lambda function is never more than 1s behind the stream\nusers: live\n",
		cli.FormatJSON: `"assumed":"the Lambda function is never more than 1s behind the stream"`,
	} {
		w, out := newExportWorld(t), &bytes.Buffer{}
		j := w.settling(out)
		j.o.assumedLag, j.o.format = time.Second, format
		if err := j.finish(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) || w.stage() != state.Live {
			t.Errorf("%s, and the sink is %s, want %s", out, w.stage(), want)
		}
	}
	if j := (&job{o: &options{}}); j.lagAssumption() != "" {
		t.Error("a folder assumes a lag")
	}
}

// A sink becomes live only after every shard was read past the last read of the sink's source. A single unread shard
// keeps the sink settling.
func TestSettleWaitsForEveryShard(t *testing.T) {
	w := newExportWorld(t)
	path := filepath.Join(t.TempDir(), "leases.json")
	table, err := leasesfile.Open(path, "shop")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	}()
	unread := leases.Lease{Shard: "shardId-1", Stream: shopStream, Counter: 1, Checkpoint: leases.After("100")}
	unread.Time = time.Now().Add(-time.Hour)
	read := leases.Lease{Shard: "shardId-2", Stream: shopStream, Counter: 1}
	read.Checkpoint.Kind = leases.ShardEnd
	for _, l := range []leases.Lease{unread, read} {
		if err := table.Create(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	j := w.settling(&bytes.Buffer{})
	j.cfg.Leases = &config.Leases{File: path}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := j.waitAndMakeLive(ctx); !errors.Is(err, context.DeadlineExceeded) || w.stage() != state.Settling {
		t.Errorf("with an unread shard the sink is %s (%v)", w.stage(), err)
	}
	ended := unread
	ended.Checkpoint, ended.Counter = read.Checkpoint, 2
	if err := table.Swap(t.Context(), unread, ended); err != nil {
		t.Fatal(err)
	}
	if err := j.waitAndMakeLive(t.Context()); err != nil || w.stage() != state.Live {
		t.Errorf("with all shards read the sink is %s (%v)", w.stage(), err)
	}
}

// Another process of an abandoned run does not make its sink live, whatever it has read.
func TestAbandonedRunOfAnotherProcess(t *testing.T) {
	w := newExportWorld(t)
	first, second := w.settling(&bytes.Buffer{}), w.process(&bytes.Buffer{}, nil)
	b := first.selection.births[0]
	filling := b
	filling.Stage, filling.ReadUntil = state.Filling, time.Time{}
	if done, err := w.kept.SetBirth(t.Context(), b, filling); err != nil || !done {
		t.Fatal(done, err)
	}
	first.selection.births, second.selection.births = []state.Birth{filling}, []state.Birth{filling}
	if err := first.abandonSinks(t.Context(), []string{"users"}); err != nil {
		t.Fatal(err)
	}
	err := second.waitAndMakeLive(t.Context())
	if err == nil || !strings.Contains(err.Error(), "start again") || w.stage() != state.Filling {
		t.Errorf("the sink is %s (%v)", w.stage(), err)
	}
}

// Whoever stores the backfill of a run first decides what the run is: a process of the run, or a command that abandons
// it to take its sinks.
func TestFirstStoredBackfillDecides(t *testing.T) {
	w := newExportWorld(t)
	process, taker := w.process(&bytes.Buffer{}, nil), w.process(&bytes.Buffer{}, nil)
	if err := taker.abandonUnstored(t.Context(), []string{"run"}); err != nil {
		t.Fatal(err)
	}
	err := process.storeBackfill(t.Context(), state.Backfill{Source: "archive a"})
	if err == nil || !strings.Contains(err.Error(), "another command has taken sinks of users from this run") {
		t.Errorf("a process of an abandoned run: %v", err)
	}
	w = newExportWorld(t)
	process, taker = w.process(&bytes.Buffer{}, nil), w.process(&bytes.Buffer{}, nil)
	if err := process.storeBackfill(t.Context(), state.Backfill{Source: "archive a"}); err != nil {
		t.Fatal(err)
	}
	err = taker.abandonUnstored(t.Context(), []string{"run"})
	if err == nil || !strings.Contains(err.Error(), "the run run has begun to fill users from archive a") {
		t.Errorf("a run that has begun is abandoned: %v", err)
	}
}
