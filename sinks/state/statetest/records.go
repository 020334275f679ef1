package statetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

func gapsComeBack(t *testing.T, w *fixture) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	known := record.Gap{StreamARN: "arn:1", Shard: "shardId-2", After: "100", Before: "200", From: at, To: at.Add(time.Hour), Found: at.Add(2 * time.Hour)}
	unknown := record.Gap{StreamARN: "arn:1", Shard: "shardId-1", Found: at.Add(3 * time.Hour), UnknownExtent: true}
	wider := known
	wider.Before, wider.Whole = "300", true
	for _, g := range []record.Gap{unknown, known, wider} {
		must(t, w.state.AddGap(t.Context(), g))
	}
	got := collect(t, w.suite.State(w.open(), "test").Gaps(t.Context()))
	if want := []record.Gap{wider, unknown}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("gaps:\n%+v, want\n%+v", got, want)
	}
}

func gapsAreFoundWhenNoted(t *testing.T, w *fixture) {
	before := time.Now()
	must(t, w.state.AddGap(t.Context(), record.Gap{StreamARN: "arn:1", Shard: "shardId-1"}))
	for g, err := range w.state.Gaps(t.Context()) {
		if err != nil || g.Found.Before(before) || g.Found.After(time.Now()) {
			t.Errorf("a gap without a time, noted after %v: %+v, %v", before, g, err)
		}
	}
}

func fingerprintsComeBack(t *testing.T, w *fixture) {
	if f, ok, err := w.Fingerprint(t.Context(), "test", "orders"); ok || err != nil {
		t.Fatalf("nothing was written, and yet %v, %v", f, err)
	}
	want := state.Fingerprint{Pipeline: "test", Sink: "orders", Generation: 1, Settings: map[string]string{"view.key.PK": `{"é"}`, "view.when": ""}}
	other := want
	other.Sink, other.Settings = "users", nil
	for _, f := range []state.Fingerprint{{Pipeline: "test", Sink: "orders", Generation: 7}, want, other} {
		must(t, w.SetFingerprint(t.Context(), f))
	}
	for _, s := range []Store{w.Store, w.open()} {
		f, ok, err := s.Fingerprint(t.Context(), "test", "orders")
		if err != nil || !ok || f.Pipeline != "test" || f.Sink != "orders" || f.Generation != 1 || len(f.Changed(want)) > 0 {
			t.Errorf("came back as %+v %v (%v), want %+v", f, ok, err, want)
		}
	}
	if f, ok, err := w.Fingerprint(t.Context(), "other", "orders"); ok || err != nil {
		t.Errorf("another pipeline has %v, %v", f, err)
	}
}
