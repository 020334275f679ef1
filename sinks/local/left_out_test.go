package local_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// If a process starts without a sink that has output, the process records this. Each later start with the sink logs a
// warning until the record is cleared. ClearLeftOut clears nothing if another process without the sink started
// meanwhile.
func TestLeftOut(t *testing.T) {
	dir := t.TempDir()
	begin := func(file string, opts ...sinks.Option) (log string, second state.Birth) {
		t.Helper()
		var b bytes.Buffer
		_, stores := started(t, dir, file, append(opts, sinks.WithLogger(slog.New(slog.NewTextHandler(&b, nil))))...)
		_, all := births(t, stores)
		if err := stores.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String(), all["second"]
	}
	const told, warned = "the file lacks a sink that has written", "the sink may miss changes"
	log, b := begin(twoViews)
	if !b.LeftOut.IsZero() || strings.Contains(log, told) || strings.Contains(log, warned) {
		t.Fatalf("at the first start: %+v\n%s", b, log)
	}
	began := time.Now().Truncate(time.Second)
	log, b = begin(oneView)
	if b.LeftOut.Before(began) || b.Fresh || !strings.Contains(log, told) || !strings.Contains(log, "sink=second") {
		t.Fatalf("without it: %+v\n%s", b, log)
	}
	log, again := begin(oneView)
	if !again.LeftOut.After(b.LeftOut) || strings.Contains(log, told) {
		t.Fatalf("without it again: %+v\n%s", again, log)
	}
	log, b = begin(twoViews)
	if !b.LeftOut.Equal(again.LeftOut) || !strings.Contains(log, warned) || !strings.Contains(log, "sink=second") {
		t.Fatalf("with it: %+v\n%s", b, log)
	}

	clearNote := func(was state.Birth) (done bool) {
		t.Helper()
		stores := open(t, dir)
		kept, _ := births(t, stores)
		done, err := sinks.ClearLeftOut(t.Context(), kept, was)
		if err = errors.Join(err, stores.Close()); err != nil {
			t.Fatal(err)
		}
		return done
	}
	_, later := begin(oneView)
	if clearNote(b) {
		t.Error("it was cleared, and a process was started without the sink after that was read")
	}
	if !clearNote(later) {
		t.Error("it was not cleared")
	}
	if log, b = begin(twoViews); !b.LeftOut.IsZero() || strings.Contains(log, warned) {
		t.Errorf("after it was cleared: %+v\n%s", b, log)
	}
}

// A backfill and a redrive do not acknowledge changes of the stream, so they do not record that a sink is left out. A
// waiting sink is not recorded either, because its later backfill brings the changes that it misses.
func TestLeftOut_NotNoted(t *testing.T) {
	for name, opt := range map[string]sinks.Option{
		"backfill": sinks.Backfill(sinks.BackfillOptions{Sinks: []string{"first"}}),
		"redrive":  sinks.Redrive(),
		"recorded": sinks.RecordOutputsOnly(),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, stores := started(t, dir, twoViews)
			if err := stores.Close(); err != nil {
				t.Fatal(err)
			}
			_, stores = started(t, dir, oneView, opt)
			if _, all := births(t, stores); !all["second"].LeftOut.IsZero() {
				t.Errorf("it is noted: %+v", all["second"])
			}
			if err := stores.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("waiting", func(t *testing.T) {
		dir := t.TempDir()
		for _, file := range []string{oneView, twoViews, oneView} {
			_, stores := started(t, dir, file)
			if _, all := births(t, stores); !all["second"].LeftOut.IsZero() || file == twoViews && all["second"].Stage != state.Waiting {
				t.Errorf("it is noted, or does not wait: %+v", all["second"])
			}
			if err := stores.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// BirthsMissingChanges returns only births whose sink and target are in the file.
func TestLeftOut_OfTheFile(t *testing.T) {
	cfg, err := config.Parse("tablewake.yaml", []byte(oneView), nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	left := sinks.BirthsMissingChanges(cfg, []state.Birth{
		{Sink: "first", Target: "table views", LeftOut: now}, {Sink: "first", Target: "table elsewhere", LeftOut: now},
		{Sink: "second", Target: "table views", LeftOut: now},
	})
	if len(left) != 1 || left[0].Sink != "first" || left[0].Target != "table views" {
		t.Errorf("left out: %+v", left)
	}
}
