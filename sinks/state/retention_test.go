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
		{"a rebuild", state.Retention{StoreAge: old, Rebuild: true}, 1000 * day, false},
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
		if err != nil || r.StoreAge != c.want || r.Keep != 7*day || r.Rebuild != c.rebuild {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	broken := errors.New("broken")
	if _, err := state.LoadRetention(t.Context(), rememberer{err: broken}, 0, false); !errors.Is(err, broken) {
		t.Errorf("the store's error is %v", err)
	}
}
