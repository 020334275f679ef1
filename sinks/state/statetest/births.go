package statetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

func (w *fixture) births(s state.Store) []state.Birth {
	w.t.Helper()
	return collect(w.t, s.Births(w.t.Context()))
}

func (w *fixture) recordBirth(s state.Store, b state.Birth) state.Birth {
	w.t.Helper()
	stored, err := s.RecordBirth(w.t.Context(), b)
	must(w.t, err)
	return stored
}

func (w *fixture) setBirth(s state.Store, was, now state.Birth) bool {
	w.t.Helper()
	done, err := s.SetBirth(w.t.Context(), was, now)
	must(w.t, err)
	return done
}

var bornAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Every process reads all recorded births of its pipeline, in order, and no others.
func birthsComeBack(t *testing.T, w *fixture) {
	second := w.recordBirth(w.state, state.NewBirth("orders", "table b#%/é", bornAt))
	first := w.recordBirth(w.state, state.NewBirth("orders", "table a", bornAt))
	full := state.NewBirth("users", "index users", bornAt)
	full.State, full.Store, full.Begun = "the state", "the store", true
	full.Stage, full.Floor, full.Stream, full.Run, full.ReadUntil = state.Settling, bornAt.Add(time.Minute), "arn:stream",
		"run#1", bornAt.Add(time.Hour)
	full.LeftOut = bornAt.Add(time.Hour + time.Nanosecond)
	w.recordBirth(w.state, full)
	w.recordBirth(w.suite.State(w.Store, "other"), state.NewBirth("orders", "table a", bornAt))
	got := w.births(w.suite.State(w.open(), "test"))
	if want := []state.Birth{first, second, full}; !slices.Equal(got, want) {
		t.Errorf("births:\n%+v, want\n%+v", got, want)
	}
	if first.ID == second.ID || len(first.ID) != 16 {
		t.Errorf("ids %q and %q", first.ID, second.ID)
	}
}

// If many processes begin a sink at once, all get the same birth (the identity of the sink's output).
func birthsAreOne(t *testing.T, w *fixture) {
	expectSame(t, processes(w, 8, func(_ int, s state.Store) (state.Birth, error) {
		return s.RecordBirth(t.Context(), state.NewBirth("orders", "table a", bornAt))
	}))
}

// A birth is replaced only if it is unchanged. So the first of two writers wins.
func birthsChangeAsRead(t *testing.T, w *fixture) {
	was := w.recordBirth(w.state, state.NewBirth("orders", "table a", bornAt))
	now := was
	now.State, now.Store, now.Begun = "s", "t", true
	if !w.setBirth(w.state, was, now) {
		t.Error("it was not replaced")
	}
	late := was
	late.Store = "late"
	if w.setBirth(w.suite.State(w.open(), "test"), was, late) {
		t.Error("one that was replaced meanwhile was replaced again")
	}
	if bs := w.births(w.state); len(bs) != 1 || bs[0] != now {
		t.Errorf("births: %+v, want %+v", bs, now)
	}
	if w.setBirth(w.state, was, state.Birth{}) {
		t.Error("one that was replaced meanwhile was removed")
	}
	if !w.setBirth(w.state, now, state.Birth{}) || len(w.births(w.state)) > 0 {
		t.Error("it was not removed")
	}
	if again := w.recordBirth(w.state, state.NewBirth("orders", "table a", bornAt)); again.ID == was.ID {
		t.Error("another birth has the same id")
	}
}

// SetBirth compares each field of a birth. So two processes cannot both move the stage of an output.
func everyFieldOfABirthIsCompared(t *testing.T, w *fixture) {
	stored := state.NewBirth("orders", "table a", bornAt)
	stored.Stage, stored.Floor, stored.Stream, stored.Run, stored.ReadUntil = state.Filling, bornAt, "arn", "run",
		bornAt.Add(time.Hour)
	stored.Fresh, stored.LeftOut = true, bornAt.Add(2*time.Hour)
	w.recordBirth(w.state, stored)
	for name, change := range map[string]func(*state.Birth){
		"id":             func(b *state.Birth) { b.ID = "another" },
		"made":           func(b *state.Birth) { b.Made = b.Made.Add(time.Second) },
		"state":          func(b *state.Birth) { b.State = "s" },
		"store":          func(b *state.Birth) { b.Store = "s" },
		"begun":          func(b *state.Birth) { b.Begun = true },
		"fresh":          func(b *state.Birth) { b.Fresh = false },
		"stage":          func(b *state.Birth) { b.Stage = state.Waiting },
		"no stage":       func(b *state.Birth) { b.Stage = state.Live },
		"floor":          func(b *state.Birth) { b.Floor = b.Floor.Add(time.Second) },
		"no floor":       func(b *state.Birth) { b.Floor = time.Time{} },
		"stream":         func(b *state.Birth) { b.Stream = "arn 2" },
		"no stream":      func(b *state.Birth) { b.Stream = "" },
		"run":            func(b *state.Birth) { b.Run = "run 2" },
		"no run":         func(b *state.Birth) { b.Run = "" },
		"read until":     func(b *state.Birth) { b.ReadUntil = b.ReadUntil.Add(time.Second) },
		"not read until": func(b *state.Birth) { b.ReadUntil = time.Time{} },
		"left out":       func(b *state.Birth) { b.LeftOut = b.LeftOut.Add(time.Nanosecond) },
		"not left out":   func(b *state.Birth) { b.LeftOut = time.Time{} },
	} {
		was := stored
		change(&was)
		if now := (state.Birth{Sink: stored.Sink, Target: stored.Target, ID: "wrong", Made: bornAt}); w.setBirth(w.state, was,
			now) || w.setBirth(w.state, was, state.Birth{}) {
			t.Errorf("a birth whose %s differs was replaced", name)
		}
	}
	live := stored
	live.Stage, live.ReadUntil, live.Fresh, live.LeftOut = state.Live, time.Time{}, false, time.Time{}
	if !w.setBirth(w.state, stored, live) {
		t.Error("it was not replaced")
	}
	if bs := w.births(w.suite.State(w.open(), "test")); len(bs) != 1 || bs[0] != live {
		t.Errorf("births: %+v, want %+v", bs, live)
	}
	unfilled := live
	unfilled.Stage, unfilled.Floor, unfilled.Stream, unfilled.Run = state.Waiting, time.Time{}, "", ""
	if !w.setBirth(w.state, live, unfilled) || w.births(w.state)[0] != unfilled {
		t.Errorf("births: %+v, want %+v", w.births(w.state), unfilled)
	}
}

// If many processes begin to fill an output at once, one of them succeeds.
func stagesMoveOnce(t *testing.T, w *fixture) {
	was := state.NewBirth("orders", "table a", bornAt)
	was.Stage = state.Waiting
	w.recordBirth(w.state, was)
	won := 0
	for _, done := range processes(w, 8, func(i int, s state.Store) (bool, error) {
		now := was
		now.Stage, now.Run, now.Floor = state.Filling, fmt.Sprint(i), bornAt
		return s.SetBirth(t.Context(), was, now)
	}) {
		if done {
			won++
		}
	}
	if won != 1 {
		t.Errorf("%d processes began to fill the output, want 1", won)
	}
}

// The state has the same identity in every process.
func identityStays(t *testing.T, w *fixture) {
	id, err := w.state.Identity(t.Context())
	must(t, err)
	again, err := w.suite.State(w.open(), "other").Identity(t.Context())
	if err != nil || again != id {
		t.Errorf("it is %q, and to another process %q (%v)", id, again, err)
	}
}
