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

// A key is marked in every process of its pipeline, until its mark is cleared.
func checkMarksInEveryProcess(t *testing.T, f *fixture) {
	other := f.suite.State(f.open(), "test")
	f.expectMarked(f.state, "crm", "")
	f.markKeys(f.state, "crm", "b")
	f.expectMarked(f.state, "crm", "b")
	f.expectMarked(other, "crm", "b")
	f.expectMarked(other, "events", "")
	f.markKeys(other, "crm", "a")
	f.expectMarked(f.state, "crm", "ab")
	for _, m := range f.marks(other, "crm") {
		if m.Key == "b" && !f.clear(other, m) {
			t.Error("nothing was put behind b, and its mark stays")
		}
	}
	f.expectMarked(f.state, "crm", "a")
}

// Of many keys, with any characters, exactly those that MarkKeys got are marked.
func checkManyKeys(t *testing.T, f *fixture) {
	var keys, odd []item.Key
	for i := range 3000 {
		keys = append(keys, item.Key(fmt.Sprintf("key%%20%d,é\"\\", i)))
		if i%2 == 1 {
			odd = append(odd, keys[i])
		}
	}
	f.markKeys(f.state, "crm", odd...)
	marked, err := f.state.HasMarks(t.Context(), "crm", keys)
	must(t, err)
	for i, yes := range marked {
		if yes != (i%2 == 1) {
			t.Fatalf("key %d: marked is %v", i, yes)
		}
	}
	if marked, err := f.state.HasMarks(t.Context(), "crm", nil); err != nil || len(marked) != 0 {
		t.Errorf("no keys: %v, %v", marked, err)
	}
}

// A mark is the note that a key is quarantined. It is cleared only if it is unchanged since it was read. A mark that
// was cleared and added again is another mark.
func checkClearIsConditional(t *testing.T, f *fixture) {
	before := time.Now().Add(-time.Second)
	f.markKeys(f.state, "crm", "a", "a", "b")
	ms := f.marks(f.state, "crm")
	if len(ms) != 2 || ms[0].Letters == ms[1].Letters || ms[0].Since.Before(before) ||
		ms[0].Since.After(time.Now().Add(time.Second)) {
		t.Fatalf("the marks are %+v", ms)
	}
	first := ms[0]
	f.markKeys(f.state, "crm", "a")
	if f.clear(f.state, first) {
		t.Error("a letter came behind a, and yet it is cleared")
	}
	f.expectMarked(f.state, "crm", "ab")
	second := f.marks(f.state, "crm")[0]
	if !second.Since.Equal(first.Since) || second.Letters == first.Letters {
		t.Errorf("after one letter more %+v is %+v", first, second)
	}
	if !f.clear(f.state, second) {
		t.Error("a is not cleared")
	}
	if f.clear(f.state, second) {
		t.Error("a is cleared twice")
	}
	f.markKeys(f.state, "crm", "a", "a", "a")
	if f.clear(f.state, second) {
		t.Error("a mark of old clears a new one")
	}
	f.expectMarked(f.state, "crm", "ab")
}

// Marks are read in the order of sink and key.
func checkMarksComeInOrder(t *testing.T, f *fixture) {
	f.markKeys(f.state, "events", "a")
	f.markKeys(f.state, "crm", "b", "a")
	for sink, want := range map[string]string{"": "crm/a crm/b events/a ", "crm": "crm/a crm/b ", "events": "events/a ",
		"none": ""} {
		got := ""
		for _, m := range f.marks(f.state, sink) {
			got += m.Sink + "/" + string(m.Key) + " "
		}
		if got != want {
			t.Errorf("marks of %q: %q, want %q", sink, got, want)
		}
	}
}

// A pipeline does not see the marks and gaps of another one.
func checkPipelinesAreApart(t *testing.T, f *fixture) {
	other := f.suite.State(f.Store, "other")
	f.markKeys(f.state, "crm", "a")
	f.expectMarked(other, "crm", "")
	must(t, other.AddGap(t.Context(), record.Gap{StreamARN: "arn", Shard: "1"}))
	if ms := f.marks(other, ""); len(ms) != 0 {
		t.Errorf("another pipeline has the marks %v", ms)
	}
	for g, err := range f.state.Gaps(t.Context()) {
		t.Errorf("another pipeline's gap: %v, %v", g, err)
	}
}

// Marks may be cleared and added during a read.
func checkWritesDuringReads(t *testing.T, f *fixture) {
	f.markKeys(f.state, "crm", "a", "b", "c")
	for m, err := range f.state.Marks(t.Context(), "crm") {
		must(t, err)
		if !f.clear(f.state, m) {
			t.Errorf("%s is not cleared", m.Key)
		}
		f.markKeys(f.state, "events", m.Key)
	}
	f.expectMarked(f.state, "crm", "")
	f.expectMarked(f.state, "events", "abc")
	for range 20 { // more often than a store has connections
		for _, err := range f.state.Marks(t.Context(), "") {
			must(t, err)
			break
		}
	}
}

// Calls of a closed store fail. A second Close does nothing.
func checkClosedStoreFails(t *testing.T, f *fixture) {
	must(t, f.Close())
	if err := f.state.MarkKeys(t.Context(), "crm", []item.Key{"a"}); err == nil {
		t.Error("a key is marked in a closed store")
	}
	if marked, err := f.state.HasMarks(t.Context(), "crm", []item.Key{"a"}); err == nil {
		t.Errorf("a closed store says %v", marked)
	}
	if err := f.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

// The error of a cancelled call is transient, so that it never stops a pipeline.
func checkCancelledCallFails(t *testing.T, f *fixture) {
	f.markKeys(f.state, "crm", "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.state.HasMarks(ctx, "crm", []item.Key{"a"})
	for what, err := range map[string]error{"HasMarks": err, "MarkKeys": f.state.MarkKeys(ctx, "crm", []item.Key{"a"})} {
		if _, again := pipeline.Retryable(err); err != nil && !again {
			t.Errorf("%s: %v, want a transient error or none", what, err)
		}
	}
}

// Dead letters are added while marks are cleared. Each dead letter is counted in exactly one of the cleared marks.
func checkRedriveAgainstMarking(t *testing.T, f *fixture) {
	const letters = 60
	other := f.suite.State(f.open(), "test")
	var put sync.WaitGroup
	stopped := make(chan struct{})
	put.Go(func() {
		defer close(stopped)
		for range letters {
			if err := other.MarkKeys(t.Context(), "crm", []item.Key{"a"}); err != nil {
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
		for _, m := range f.marks(f.state, "crm") {
			if f.clear(f.state, m) {
				cleared += m.Letters
			}
		}
	}
	put.Wait()
	if cleared != letters {
		t.Errorf("the marks that were cleared had %d letters, of %d", cleared, letters)
	}
}
