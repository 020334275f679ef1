package statetest

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
)

// A fingerprint is read as it was last written, by every process. Each sink and pipeline has its own.
func fingerprintsComeBack(t *testing.T, f *fixture) {
	if got, ok, err := f.Fingerprint(t.Context(), "test", "orders"); ok || err != nil {
		t.Fatalf("nothing was written, and yet %v, %v", got, err)
	}

	want := state.Fingerprint{Pipeline: "test", Sink: "orders", Generation: 1,
		Settings: map[string]string{"view.key.PK": `{"é"}`, "view.when": ""}}
	other := want
	other.Sink, other.Settings = "users", nil
	for _, fingerprint := range []state.Fingerprint{{Pipeline: "test", Sink: "orders", Generation: 7}, want, other} {
		must(t, f.SetFingerprint(t.Context(), fingerprint))
	}

	for _, s := range []Store{f.Store, f.open()} {
		got, ok, err := s.Fingerprint(t.Context(), "test", "orders")
		hasNames := got.Pipeline == "test" && got.Sink == "orders"
		if err != nil || !ok || !hasNames || got.Generation != 1 || len(got.Changed(want)) > 0 {
			t.Errorf("came back as %+v %v (%v), want %+v", got, ok, err, want)
		}
	}
	if got, ok, err := f.Fingerprint(t.Context(), "other", "orders"); ok || err != nil {
		t.Errorf("another pipeline has %v, %v", got, err)
	}
}
