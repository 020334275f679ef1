package statetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

func heldInEveryProcess(t *testing.T, w *fixture) {
	other := w.suite.State(w.open(), "test")
	w.expectHeld(w.state, "crm", "")
	w.hold(w.state, "crm", "b")
	w.expectHeld(w.state, "crm", "b")
	w.expectHeld(other, "crm", "b")
	w.expectHeld(other, "events", "")
	w.hold(other, "crm", "a")
	w.expectHeld(w.state, "crm", "ab")
	for _, m := range w.marks(other, "crm") {
		if m.Key == "b" && !w.clear(other, m) {
			t.Error("nothing was put behind b, and it stays held")
		}
	}
	w.expectHeld(w.state, "crm", "a")
}

func manyKeys(t *testing.T, w *fixture) {
	var keys, odd []item.Key
	for i := range 3000 {
		keys = append(keys, item.Key(fmt.Sprintf("key%%20%d,é\"\\", i)))
		if i%2 == 1 {
			odd = append(odd, keys[i])
		}
	}
	w.hold(w.state, "crm", odd...)
	held, err := w.state.Held(t.Context(), "crm", keys)
	must(t, err)
	for i, yes := range held {
		if yes != (i%2 == 1) {
			t.Fatalf("key %d: held is %v", i, yes)
		}
	}
	if held, err := w.state.Held(t.Context(), "crm", nil); err != nil || len(held) != 0 {
		t.Errorf("no keys: %v, %v", held, err)
	}
}

// A mark, the note that a key is quarantined, is cleared only if it is unchanged. A mark that was cleared and added
// again is another mark.
func clearIsConditional(t *testing.T, w *fixture) {
	before := time.Now().Add(-time.Second)
	w.hold(w.state, "crm", "a", "a", "b")
	ms := w.marks(w.state, "crm")
	if len(ms) != 2 || ms[0].Letters == ms[1].Letters || ms[0].Since.Before(before) ||
		ms[0].Since.After(time.Now().Add(time.Second)) {
		t.Fatalf("the marks are %+v", ms)
	}
	first := ms[0]
	w.hold(w.state, "crm", "a")
	if w.clear(w.state, first) {
		t.Error("a letter came behind a, and yet it is cleared")
	}
	w.expectHeld(w.state, "crm", "ab")
	second := w.marks(w.state, "crm")[0]
	if !second.Since.Equal(first.Since) || second.Letters == first.Letters {
		t.Errorf("after one letter more %+v is %+v", first, second)
	}
	if !w.clear(w.state, second) {
		t.Error("a is not cleared")
	}
	if w.clear(w.state, second) {
		t.Error("a is cleared twice")
	}
	w.hold(w.state, "crm", "a", "a", "a")
	if w.clear(w.state, second) {
		t.Error("a mark of old clears a new one")
	}
	w.expectHeld(w.state, "crm", "ab")
}

func marksComeInOrder(t *testing.T, w *fixture) {
	w.hold(w.state, "events", "a")
	w.hold(w.state, "crm", "b", "a")
	for sink, want := range map[string]string{"": "crm/a crm/b events/a ", "crm": "crm/a crm/b ", "events": "events/a ",
		"none": ""} {
		got := ""
		for _, m := range w.marks(w.state, sink) {
			got += m.Sink + "/" + string(m.Key) + " "
		}
		if got != want {
			t.Errorf("marks of %q: %q, want %q", sink, got, want)
		}
	}
}

func pipelinesAreApart(t *testing.T, w *fixture) {
	other := w.suite.State(w.Store, "other")
	w.hold(w.state, "crm", "a")
	w.expectHeld(other, "crm", "")
	must(t, other.AddGap(t.Context(), record.Gap{StreamARN: "arn", Shard: "1"}))
	if ms := w.marks(other, ""); len(ms) != 0 {
		t.Errorf("another pipeline has the marks %v", ms)
	}
	for g, err := range w.state.Gaps(t.Context()) {
		t.Errorf("another pipeline's gap: %v, %v", g, err)
	}
}

// Marks may be cleared and added during a read.
func readingMayWrite(t *testing.T, w *fixture) {
	w.hold(w.state, "crm", "a", "b", "c")
	for m, err := range w.state.Marks(t.Context(), "crm") {
		must(t, err)
		if !w.clear(w.state, m) {
			t.Errorf("%s is not cleared", m.Key)
		}
		w.hold(w.state, "events", m.Key)
	}
	w.expectHeld(w.state, "crm", "")
	w.expectHeld(w.state, "events", "abc")
	for range 20 { // more often than a store has connections
		for _, err := range w.state.Marks(t.Context(), "") {
			must(t, err)
			break
		}
	}
}

func closedStoreSaysSo(t *testing.T, w *fixture) {
	must(t, w.Close())
	if err := w.state.Hold(t.Context(), "crm", []item.Key{"a"}); err == nil {
		t.Error("a key is held in a closed store")
	}
	if held, err := w.state.Held(t.Context(), "crm", []item.Key{"a"}); err == nil {
		t.Errorf("a closed store says %v", held)
	}
	if err := w.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

// The error of a cancelled call is transient, so that it never stops a pipeline.
func cancelledCallSaysSo(t *testing.T, w *fixture) {
	w.hold(w.state, "crm", "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.state.Held(ctx, "crm", []item.Key{"a"})
	for what, err := range map[string]error{"Held": err, "Hold": w.state.Hold(ctx, "crm", []item.Key{"a"})} {
		if _, again := pipeline.Retryable(err); err != nil && !again {
			t.Errorf("%s: %v, want a transient error or none", what, err)
		}
	}
}

// Dead letters are added while marks are cleared. Each dead letter is counted in exactly one of the cleared marks.
func redriveAgainstHolding(t *testing.T, w *fixture) {
	const letters = 60
	other := w.suite.State(w.open(), "test")
	var put sync.WaitGroup
	stopped := make(chan struct{})
	put.Go(func() {
		defer close(stopped)
		for range letters {
			if err := other.Hold(t.Context(), "crm", []item.Key{"a"}); err != nil {
				t.Error(err)
			}
		}
	})
	cleared := int64(0)
	for isLastRound := false; !isLastRound; {
		select {
		case <-stopped:
			isLastRound = true // clear once more, because letters may have been added since
		default:
		}
		for _, m := range w.marks(w.state, "crm") {
			if w.clear(w.state, m) {
				cleared += m.Letters
			}
		}
	}
	put.Wait()
	if cleared != letters {
		t.Errorf("the marks that were cleared had %d letters, of %d", cleared, letters)
	}
}
