package state_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

const day = 24 * time.Hour

func TestRetention_Check(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	old := state.StoreAge{Born: now.Add(-400 * day), Forgets: true}
	young := state.StoreAge{Born: now.Add(-10 * day), Forgets: true}
	for _, c := range []struct {
		name    string
		r       state.Retention
		age     time.Duration
		refused bool
	}{
		{"the zero Retention", state.Retention{}, 1000 * day, false},
		{"a fresh change", state.Retention{StoreAge: old}, time.Hour, false},
		{"a change just within the retention", state.Retention{StoreAge: old}, 30 * day, false},
		{"a change beyond it", state.Retention{StoreAge: old}, 30*day + time.Second, true},
		{"a longer retention", state.Retention{StoreAge: old, Keep: 90 * day}, 31 * day, false},
		{"beyond the longer one", state.Retention{StoreAge: old, Keep: 90 * day}, 91 * day, true},
		{"a store younger than the retention", state.Retention{StoreAge: young}, 1000 * day, false},
		{"the same with a shorter retention", state.Retention{StoreAge: young, Keep: 9 * day}, 1000 * day, true},
		{"a store that never forgets", state.Retention{StoreAge: state.StoreAge{Born: old.Born}}, 1000 * day, false},
	} {
		err := c.r.Check(now.Add(-c.age), now)
		if (err != nil) != c.refused {
			t.Errorf("%s: %v, want refused %v", c.name, err, c.refused)
		}
		if err == nil {
			continue
		}
		if _, again := pipeline.Retryable(err); again || pipeline.IsFatal(err) {
			t.Errorf("%s: %v is not permanent", c.name, err)
		}
		for _, word := range []string{"guard_retention", "--rebuild", now.Add(-c.age).Format(time.RFC3339)} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v does not say %q", c.name, err, word)
			}
		}
	}
}

// A backfill may begin and continue until one day before the store may forget removals that happened after its source
// was taken.
func TestRetention_CheckBackfill(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	at := func(from, begun time.Duration) state.Backfill {
		return state.Backfill{Run: "run-1", From: now.Add(-from), Start: now.Add(-begun)}
	}
	forgets := state.Retention{StoreAge: state.StoreAge{Forgets: true}}
	unknown := at(0, 29*day)
	unknown.From = time.Time{}
	for _, c := range []struct {
		name string
		r    state.Retention
		b    state.Backfill
		want string // "" if it may begin and continue
	}{
		{"a scan that begins", forgets, at(0, 0), ""},
		{"an export just young enough", forgets, at(29*day-time.Second, 0), ""},
		{"an export that is too old", forgets, at(29*day, 0), "newer export"},
		{"a backfill that ran too long", forgets, at(0, 29*day), "newer export"},
		{"a source of unknown age, that was read too long", forgets, unknown, "newer export"},
		{"a longer retention", state.Retention{StoreAge: forgets.StoreAge, Keep: 90 * day}, at(88*day, 0), ""},
		{"a retention that is as short as the margin", state.Retention{StoreAge: forgets.StoreAge, Keep: day}, at(0, 0), "set state.guard_retention"},
		{"a store that forgets nothing", state.Retention{Keep: day}, at(1000*day, 0), ""},
	} {
		err := c.r.CheckBackfill(c.b, now)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "run-1")) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
	}
}

type rememberer struct {
	memory state.StoreAge
	err    error
}

func (r rememberer) StoreAge(context.Context) (state.StoreAge, error) { return r.memory, r.err }

func TestRetentionOf(t *testing.T) {
	m := state.StoreAge{Born: time.Unix(1, 0), Forgets: true}
	for name, c := range map[string]struct {
		store   any
		rebuild bool
		want    state.StoreAge
	}{
		"a store that forgets":        {rememberer{memory: m}, false, m},
		"a store that says nothing":   {"store", false, state.StoreAge{}},
		"a rebuild, whatever it says": {rememberer{memory: m}, true, state.StoreAge{}},
	} {
		r, err := state.LoadRetention(t.Context(), c.store, 7*day, c.rebuild)
		if err != nil || r.StoreAge != c.want || r.Keep != 7*day {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	broken := errors.New("broken")
	if _, err := state.LoadRetention(t.Context(), rememberer{err: broken}, 0, false); !errors.Is(err, broken) {
		t.Errorf("the store's error is %v", err)
	}
}
