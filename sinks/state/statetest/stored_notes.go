package statetest

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

// heldBackStore keeps the notes of consumers whose shards are held back.
type heldBackStore interface {
	SetHeldBack(ctx context.Context, h state.HeldBack) error
	HeldBack(ctx context.Context) ([]state.HeldBack, error)
}

// Each consumer has one note, which it replaces and removes. Notes of other consumers and pipelines are separate.
// Expired notes are not returned.
func checkHeldBackIsReadBack(t *testing.T, f *fixture) {
	notes := func(s state.Store) heldBackStore {
		t.Helper()
		kept, ok := s.(heldBackStore)
		if !ok {
			t.Fatalf("%T keeps nothing of what is held back", s)
		}
		return kept
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	shards := func(n int) (all []state.HeldBackReason) {
		for i := range n {
			all = append(all, state.HeldBackReason{Shard: "shard-" + string(rune('a'+i)), Sink: "órders#1", Reason: "share",
				Since: now.Add(-time.Hour), Bytes: 1 << 40})
		}
		return all
	}
	set := func(s state.Store, h state.HeldBack) {
		t.Helper()
		must(t, notes(s).SetHeldBack(t.Context(), h))
	}
	expect := func(s state.Store, what string, want ...state.HeldBack) {
		t.Helper()
		got, err := notes(s).HeldBack(t.Context())
		if err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", what, got, err, want)
		}
	}
	a := state.HeldBack{Consumer: "task/1#a b", At: now, Total: 25, Worst: shards(20)}
	b := state.HeldBack{Consumer: "task/2", At: now, Total: 1, Worst: shards(1)}
	expect(f.state, "nothing was noted")
	set(f.state, state.HeldBack{Consumer: "none", At: now}) // removes a note that does not exist
	expect(f.state, "nothing is held back")
	set(f.state, b)
	set(f.state, state.HeldBack{Consumer: a.Consumer, At: now, Total: 1, Worst: shards(2)})
	set(f.state, a)
	other := f.suite.State(f.open(), "test")
	expect(other, "of two consumers", a, b)
	expect(f.suite.State(f.Store, "other"), "of another pipeline")
	set(f.suite.State(f.Store, "other"), b)
	set(other, state.HeldBack{Consumer: b.Consumer, At: now})
	expect(f.state, "one is held back no more", a)
	expect(f.suite.State(f.Store, "other"), "of another pipeline with the same consumer", b)
	old := state.HeldBack{Consumer: "long gone", At: now.Add(-state.HeldBackLifetime - time.Minute), Total: 1,
		Worst: shards(1)}
	set(f.state, old)
	expect(f.state, "one has expired", a)
}

// A fingerprint is read as it was last written, by every process. Each sink and pipeline has its own.
func checkFingerprintsAreReadBack(t *testing.T, f *fixture) {
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
