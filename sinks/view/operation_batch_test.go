package view_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/sinks/view"
)

func write(t testing.TB, s *view.Sink, cs ...*record.Change) ([]pipeline.Outcome, *pipeline.BatchError) {
	t.Helper()
	ds := deliveries(t, s, cs...)
	err := s.Write(t.Context(), ds)
	failed, ok := errors.AsType[*pipeline.BatchError](err)
	if err != nil && !ok {
		t.Fatal(err)
	}
	var outcomes []pipeline.Outcome
	for _, d := range ds {
		outcomes = append(outcomes, d.Outcome)
	}
	return outcomes, failed
}

func order(pairs ...string) sinktest.Item { return itemOf(append(pairs, "Type=Order")...) }

// life returns the changes of an order that moves, moves back, is removed and is inserted again.
func life(t testing.TB) []*record.Change {
	paid, shipped := order("Status=paid"), order("Status=shipped")
	return changes(t,
		sinktest.Record{EventName: "INSERT", New: paid},
		sinktest.Record{EventName: "MODIFY", Old: paid, New: shipped},
		sinktest.Record{EventName: "MODIFY", Old: shipped, New: paid},
		sinktest.Record{EventName: "REMOVE", Old: paid},
		sinktest.Record{EventName: "INSERT", New: paid},
	)
}

func TestOutcomes(t *testing.T) {
	const (
		written    = pipeline.Written
		coalesced  = pipeline.Coalesced
		superseded = pipeline.Superseded
	)
	cs := life(t)
	for _, c := range []struct {
		name  string
		first []*record.Change // written before the batch
		batch []*record.Change
		want  []pipeline.Outcome
	}{
		{"one by one", nil, cs[:1], []pipeline.Outcome{written}},
		{"the row is written once", nil, cs, []pipeline.Outcome{coalesced, coalesced, written, coalesced, written}},
		{"a half of a move counts", nil, cs[1:3], []pipeline.Outcome{coalesced, written}},
		{"delete then insert", cs[:1], cs[3:], []pipeline.Outcome{coalesced, written}},
		{"the same again", cs[:1], cs[:1], []pipeline.Outcome{written}},
		{"older ones", cs, cs[:2], []pipeline.Outcome{superseded, superseded}},
		{"older ones behind newer ones", nil, []*record.Change{cs[4], cs[0], cs[3]}, []pipeline.Outcome{written, superseded, superseded}},
		{"twice in a batch", nil, []*record.Change{cs[0], cs[0]}, []pipeline.Outcome{written, written}},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := &memory{}
			s := newSink(t, byStatus(t, store))
			write(t, s, c.first...)
			calls := store.calls
			got, failed := write(t, s, c.batch...)
			if !slices.Equal(got, c.want) || failed != nil {
				t.Errorf("got %v and %v, want %v", got, failed, c.want)
			}
			if store.calls != calls+1 {
				t.Errorf("%d calls of the store, want 1", store.calls-calls)
			}
		})
	}
}

// If a write fails permanently, the earlier changes that it replaced are written.
func TestPermanentFailureUncoversTheEarlierChange(t *testing.T) {
	cs := life(t)
	newest := cs[4].Version
	store := &memory{fail: func(_ int, m view.Mutation) error {
		if m.Version == newest {
			return errors.New("too large")
		}
		return nil
	}}
	_, failed := write(t, newSink(t, byStatus(t, store)), cs...)
	if failed == nil || !slices.Equal(slices.Collect(maps.Keys(failed.Failed)), []int{4}) {
		t.Fatalf("failed: got %v, want the last change alone", failed)
	}
	clean := &memory{}
	write(t, newSink(t, byStatus(t, clean)), cs[:4]...)
	if got, want := store.show(), clean.show(); !maps.Equal(got, want) {
		t.Errorf("got %v, want what the changes before it leave: %v", got, want)
	}
}

// While a write may be retried, the changes that it replaced are not settled. If the write fails permanently later,
// they must still be written.
func TestTransientFailureKeepsTheEarlierChange(t *testing.T) {
	cs := life(t)
	again := pipeline.Transient(errors.New("throttled"))
	store := &memory{fail: func(call int, _ view.Mutation) error {
		if call == 0 {
			return again
		}
		return nil
	}}
	s := newSink(t, byStatus(t, store))
	_, failed := write(t, s, cs...)
	if failed == nil || len(failed.Failed) != len(cs) {
		t.Fatalf("failed: got %v, want all %d", failed, len(cs))
	}
	for i, err := range failed.Failed {
		if _, ok := pipeline.Retryable(err); !ok {
			t.Errorf("delivery %d: %v is not marked as worth retrying", i, err)
		}
	}
	if _, failed = write(t, s, cs...); failed != nil {
		t.Errorf("the retry: %v", failed)
	}
}

func TestWriteWithoutStoreIsFatal(t *testing.T) {
	s := newSink(t, byStatus(t, nil))
	if err := s.Write(t.Context(), deliveries(t, s, life(t)...)); !pipeline.IsFatal(err) {
		t.Errorf("got %v, want a fatal error", err)
	}
}

// However a batch is coalesced, and whichever of its mutations fail, the store ends as if the changes that did not fail
// had been written one by one.
func TestCoalescingIsSequentialWriting(t *testing.T) {
	streams := sinktest.Streams(sinktest.StreamOptions{Items: 2})
	rapid.Check(t, func(rt *rapid.T) {
		stream := streams.Draw(rt, "stream")
		bad := make(map[record.Version]bool)
		for _, c := range stream.Changes {
			if rapid.IntRange(0, 4).Draw(rt, "bad") == 0 {
				bad[c.Version] = true
			}
		}
		fail := func(_ int, m view.Mutation) error {
			if bad[m.Version] {
				return errors.New("refused")
			}
			return nil
		}
		whole, single := &memory{fail: fail}, &memory{fail: fail}
		from := rapid.IntRange(0, len(stream.Changes)-1).Draw(rt, "from")
		batch := append(slices.Clone(stream.Changes), stream.Changes[from:]...)
		write(t, newSink(t, byStatus(t, whole)), batch...)
		s := newSink(t, byStatus(t, single))
		for _, c := range batch {
			write(t, s, c)
		}
		if got, want := whole.show(), single.show(); !maps.Equal(got, want) {
			rt.Fatalf("one batch leaves\n%v\none by one leaves\n%v", got, want)
		}
	})
}
