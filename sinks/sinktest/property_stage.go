package sinktest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/record"
)

// stage is the setting of one check of one property: a store, a stream, and the workers that write to the store.
type stage struct {
	suite  Suite
	tb     tb
	ctx    context.Context
	dir    string
	store  Store
	stream *Stream
}

// tb has the methods that testing.T and rapid.T share.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// check runs a property on random streams. Each stream has its own store.
func check(t *testing.T, s Suite, property func(rt *rapid.T, st *stage)) {
	t.Helper()
	streams, ctx := Streams(s.Stream), t.Context()
	checkInFolder(t, s.Checks, func(rt *rapid.T, dir string) {
		runStage(ctx, rt, s, dir, streams.Draw(rt, "stream"), func(st *stage) { property(rt, st) })
	})
}

// checkInFolder runs a property checks times, each time in an empty folder. If checks is 0, it uses rapid's default.
func checkInFolder(t *testing.T, checks int, property func(rt *rapid.T, dir string)) {
	t.Helper()
	parent := t.TempDir()
	done, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		hasEnough := checks > 0 && done >= checks
		if hasEnough && !failed { // after a failure rapid continues, to find a smaller failing input
			return
		}
		done++
		defer func() { failed = failed || rt.Failed() }()
		dir, err := os.MkdirTemp(parent, "check-")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		property(rt, dir)
	})
}

// runFixed runs a property on one given stream.
func runFixed(t *testing.T, s Suite, property func(st *stage), records ...Record) {
	t.Helper()
	stream, err := Build(records...)
	if err != nil {
		t.Fatal(err)
	}
	runStage(t.Context(), t, s, t.TempDir(), stream, property)
}

func runStage(ctx context.Context, tb tb, s Suite, dir string, stream *Stream, property func(st *stage)) {
	tb.Helper()
	st := &stage{suite: s, tb: tb, ctx: ctx, dir: dir, stream: stream}
	st.open()
	defer func() { closeWith(tb, st.store.Close) }()
	property(st)
}

func (st *stage) open() {
	st.tb.Helper()
	store, err := st.suite.Open(st.dir)
	if err != nil {
		st.tb.Fatalf("open: %v", err)
	}
	if store.Sink == nil || store.State == nil {
		st.tb.Fatal("sinktest: a Store needs Sink and State")
	}
	st.store = store
}

// closeWith closes a store. If closeStore is nil, there is nothing to close.
func closeWith(tb tb, closeStore func() error) {
	tb.Helper()
	if closeStore == nil {
		return
	}
	if err := closeStore(); err != nil {
		tb.Fatalf("close: %v", err)
	}
}

// crash lets the process die, and opens the store again, as the next process does.
func (st *stage) crash() {
	st.tb.Helper()
	closeStore := st.store.Kill
	if closeStore == nil {
		closeStore = st.store.Close
	}
	closeWith(st.tb, closeStore)
	st.open()
}

// worker returns a new worker of the pipeline. If f is nil, no store call of the worker fails.
func (st *stage) worker(f *Faults) *worker {
	st.tb.Helper()
	if f == nil {
		f = NewFaults()
	}
	sink, err := st.store.Sink(f)
	if err != nil {
		st.tb.Fatalf("sink: %v", err)
	}
	return &worker{sink: sink, events: st.suite.Events, refused: st.suite.Refused}
}

// must fails the test on an error. It is for steps that must succeed.
func (st *stage) must(err error) {
	st.tb.Helper()
	if err != nil {
		st.tb.Fatal(err)
	}
}

// run delivers batches, and ends the run.
func (st *stage) run(w *worker, batches [][]*record.Change) {
	st.tb.Helper()
	for _, b := range batches {
		st.must(w.deliver(st.ctx, b))
	}
	st.must(w.flush(st.ctx))
}

// compareWithModel compares the store with the model. after names the last step, for the error.
func (st *stage) compareWithModel(after string) {
	st.tb.Helper()
	got, err := st.store.State()
	if err != nil {
		st.tb.Fatalf("state after %s: %v", after, err)
	}
	if diff := difference(got, st.suite.Model(st.stream)); diff != "" {
		st.tb.Fatalf("after %s the store does not hold what one clean pass leaves:\n%sthe stream:\n%s", after, diff,
			st.describe())
	}
}

func (st *stage) describe() string {
	var b strings.Builder
	for _, r := range st.stream.Records {
		fmt.Fprintf(&b, "  %s %s\n    old %s\n    new %s\n", r.EventName, r.Sequence, mustJSON(r.Old), mustJSON(r.New))
	}
	return b.String()
}

func difference(got map[string]string, want map[string]string) string {
	var lines []string
	for k, w := range want {
		g, isStored := got[k]
		switch {
		case !isStored:
			lines = append(lines, fmt.Sprintf("  %s is missing, want %s\n", k, w))
		case g != w:
			lines = append(lines, fmt.Sprintf("  %s is %s, want %s\n", k, g, w))
		}
	}
	for k, g := range got {
		if _, ok := want[k]; !ok {
			lines = append(lines, fmt.Sprintf("  %s should not be there: %s\n", k, g))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
