package statetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tablewake/tablewake/sinks/state"
)

func (f *fixture) births(s state.Store) []state.Birth {
	f.t.Helper()
	return collect(f.t, s.Births(f.t.Context()))
}

func (f *fixture) recordBirth(s state.Store, b state.Birth) state.Birth {
	f.t.Helper()
	stored, err := s.RecordBirth(f.t.Context(), b)
	must(f.t, err)
	return stored
}

func (f *fixture) setBirth(s state.Store, expected, next state.Birth) bool {
	f.t.Helper()
	done, err := s.SetBirth(f.t.Context(), expected, next)
	must(f.t, err)
	return done
}

var bornAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Every process reads all recorded births of its pipeline, in order, and no others.
func checkBirthsAreReadBack(t *testing.T, f *fixture) {
	second := f.recordBirth(f.state, state.NewBirth("orders", "table b#%/é", bornAt))
	first := f.recordBirth(f.state, state.NewBirth("orders", "table a", bornAt))
	full := state.NewBirth("users", "index users", bornAt)
	full.State, full.Store, full.Begun = "the state", "the store", true
	full.Stage, full.Floor, full.Stream = state.Settling, bornAt.Add(time.Minute), "arn:stream"
	full.Run, full.ReadUntil = "run#1", bornAt.Add(time.Hour)
	full.LeftOut = bornAt.Add(time.Hour + time.Nanosecond)
	f.recordBirth(f.state, full)
	f.recordBirth(f.suite.State(f.Store, "other"), state.NewBirth("orders", "table a", bornAt))
	got := f.births(f.suite.State(f.open(), "test"))
	if want := []state.Birth{first, second, full}; !slices.Equal(got, want) {
		t.Errorf("births:\n%+v, want\n%+v", got, want)
	}
	if first.ID == second.ID || len(first.ID) != 16 {
		t.Errorf("ids %q and %q", first.ID, second.ID)
	}
}

// If many processes begin a sink at once, all get the same birth (the identity of the sink's output).
func checkOneBirthIsStored(t *testing.T, f *fixture) {
	expectSame(t, processes(f, 8, func(_ int, s state.Store) (state.Birth, error) {
		return s.RecordBirth(t.Context(), state.NewBirth("orders", "table a", bornAt))
	}))
}

// A birth is replaced only if it is unchanged. So the first of two writers wins.
func checkBirthsChangeAsRead(t *testing.T, f *fixture) {
	expected := f.recordBirth(f.state, state.NewBirth("orders", "table a", bornAt))
	next := expected
	next.State, next.Store, next.Begun = "s", "t", true
	if !f.setBirth(f.state, expected, next) {
		t.Error("it was not replaced")
	}
	late := expected
	late.Store = "late"
	if f.setBirth(f.suite.State(f.open(), "test"), expected, late) {
		t.Error("one that was replaced meanwhile was replaced again")
	}
	if bs := f.births(f.state); len(bs) != 1 || bs[0] != next {
		t.Errorf("births: %+v, want %+v", bs, next)
	}
	if f.setBirth(f.state, expected, state.Birth{}) {
		t.Error("one that was replaced meanwhile was removed")
	}
	if !f.setBirth(f.state, next, state.Birth{}) || len(f.births(f.state)) > 0 {
		t.Error("it was not removed")
	}
	if again := f.recordBirth(f.state, state.NewBirth("orders", "table a", bornAt)); again.ID == expected.ID {
		t.Error("another birth has the same id")
	}
}

// SetBirth compares each field of a birth. So two processes cannot both move the stage of an output.
func checkBirthFieldsAreCompared(t *testing.T, f *fixture) {
	stored := state.NewBirth("orders", "table a", bornAt)
	stored.Stage, stored.Floor, stored.Stream = state.Filling, bornAt, "arn"
	stored.Run, stored.ReadUntil = "run", bornAt.Add(time.Hour)
	stored.Fresh, stored.LeftOut = true, bornAt.Add(2*time.Hour)
	f.recordBirth(f.state, stored)
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
		expected := stored
		change(&expected)
		next := state.Birth{Sink: stored.Sink, Target: stored.Target, ID: "wrong", Made: bornAt}
		if f.setBirth(f.state, expected, next) || f.setBirth(f.state, expected, state.Birth{}) {
			t.Errorf("a birth whose %s differs was replaced", name)
		}
	}
	live := stored
	live.Stage, live.ReadUntil, live.Fresh, live.LeftOut = state.Live, time.Time{}, false, time.Time{}
	if !f.setBirth(f.state, stored, live) {
		t.Error("it was not replaced")
	}
	if bs := f.births(f.suite.State(f.open(), "test")); len(bs) != 1 || bs[0] != live {
		t.Errorf("births: %+v, want %+v", bs, live)
	}
	unfilled := live
	unfilled.Stage, unfilled.Floor, unfilled.Stream, unfilled.Run = state.Waiting, time.Time{}, "", ""
	if !f.setBirth(f.state, live, unfilled) || f.births(f.state)[0] != unfilled {
		t.Errorf("births: %+v, want %+v", f.births(f.state), unfilled)
	}
}

// If many processes begin to fill an output at once, one of them succeeds.
func checkStagesMoveOnce(t *testing.T, f *fixture) {
	expected := state.NewBirth("orders", "table a", bornAt)
	expected.Stage = state.Waiting
	f.recordBirth(f.state, expected)
	won := 0
	for _, done := range processes(f, 8, func(i int, s state.Store) (bool, error) {
		next := expected
		next.Stage, next.Run, next.Floor = state.Filling, fmt.Sprint(i), bornAt
		return s.SetBirth(t.Context(), expected, next)
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
func checkIdentityStays(t *testing.T, f *fixture) {
	id, err := f.state.Identity(t.Context())
	must(t, err)
	again, err := f.suite.State(f.open(), "other").Identity(t.Context())
	if err != nil || again != id {
		t.Errorf("it is %q, and to another process %q (%v)", id, again, err)
	}
}
