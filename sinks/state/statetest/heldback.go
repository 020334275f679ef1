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
func heldBackComesBack(t *testing.T, f *fixture) {
	notes := func(s state.Store) heldBackStore {
		t.Helper()
		kept, ok := s.(heldBackStore)
		if !ok {
			t.Fatalf("%T keeps nothing of what is held back", s)
		}
		return kept
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	shards := func(n int) (all []state.HeldBackShard) {
		for i := range n {
			all = append(all, state.HeldBackShard{Shard: "shard-" + string(rune('a'+i)), Sink: "órders#1", Reason: "share",
				Since: now.Add(-time.Hour), Bytes: 1 << 40})
		}
		return all
	}
	set := func(s state.Store, h state.HeldBack) {
		t.Helper()
		must(t, notes(s).SetHeldBack(t.Context(), h))
	}
	want := func(s state.Store, what string, want ...state.HeldBack) {
		t.Helper()
		got, err := notes(s).HeldBack(t.Context())
		if err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", what, got, err, want)
		}
	}
	a := state.HeldBack{Consumer: "task/1#a b", At: now, Total: 25, Worst: shards(20)}
	b := state.HeldBack{Consumer: "task/2", At: now, Total: 1, Worst: shards(1)}
	want(f.state, "nothing was noted")
	set(f.state, state.HeldBack{Consumer: "none", At: now}) // removes a note that does not exist
	want(f.state, "nothing is held back")
	set(f.state, b)
	set(f.state, state.HeldBack{Consumer: a.Consumer, At: now, Total: 1, Worst: shards(2)})
	set(f.state, a)
	other := f.suite.State(f.open(), "test")
	want(other, "of two consumers", a, b)
	want(f.suite.State(f.Store, "other"), "of another pipeline")
	set(f.suite.State(f.Store, "other"), b)
	set(other, state.HeldBack{Consumer: b.Consumer, At: now})
	want(f.state, "one is held back no more", a)
	want(f.suite.State(f.Store, "other"), "of another pipeline with the same consumer", b)
	old := state.HeldBack{Consumer: "long gone", At: now.Add(-state.HeldBackLifetime - time.Minute), Total: 1,
		Worst: shards(1)}
	set(f.state, old)
	want(f.state, "one has expired", a)
}
