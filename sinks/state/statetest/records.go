package statetest

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
)

func fingerprintsComeBack(t *testing.T, w *fixture) {
	if f, ok, err := w.Fingerprint(t.Context(), "test", "orders"); ok || err != nil {
		t.Fatalf("nothing was written, and yet %v, %v", f, err)
	}
	want := state.Fingerprint{Pipeline: "test", Sink: "orders", Generation: 1,
		Settings: map[string]string{"view.key.PK": `{"é"}`, "view.when": ""}}
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
