package viewtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// raced is a history of a few rows: version by version a row is put, is taken away, or
// moves from one key to another.
type raced struct {
	changes [][]view.Mutation
	newest  map[string]view.Mutation // by sort key
}

func newRaced(t *testing.T, dice *rand.Rand) raced {
	h := raced{newest: make(map[string]view.Mutation)}
	for v := range 24 {
		var c []view.Mutation
		keys := dice.Perm(3)
		what := dice.IntN(4)
		if what > 0 {
			c = append(c, row(t, "r", fmt.Sprint(keys[0]), v+1, fmt.Sprint("version ", v+1)))
		}
		if what < 2 {
			gone := tombstone(t, "r", fmt.Sprint(keys[1]), v+1)
			gone.Joined = what > 0
			c = append(c, gone)
		}
		for _, m := range c {
			sk, _ := m.SK.Text()
			h.newest[sk] = m
		}
		h.changes = append(h.changes, c)
	}
	return h
}

// races has writers deliver one history at once, each a part of it and some of the others',
// in an order of its own, with changes in one call or in several, and guesses that are right
// or wrong. Of each row there is in the end
// what its newest version says, and a plain reader of the table finds nothing else where
// tombstones are apart. One version behind another changes nothing any more.
func races(t *testing.T, s ofKind, suite Suite) {
	for seed := range uint64(4) {
		h := newRaced(t, rand.New(rand.NewPCG(seed, 1)))
		at := target
		at.Name = fmt.Sprintf("raced %d", seed)
		apply(t, s, at, row(t, "other", "0", 1, "is not in it")) // and makes the table
		var writers sync.WaitGroup
		for w := range uint64(4) {
			writers.Go(func() { h.deliver(t, s, at, int(w), rand.New(rand.NewPCG(seed, 10+w))) })
		}
		writers.Wait()
		h.check(t, s, suite, at, "after the race")
		for _, c := range h.changes {
			for _, m := range c {
				h.write(t, s, at, []view.Mutation{m})
			}
		}
		h.check(t, s, suite, at, "after each version once more")
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// deliver writes every fourth change, and some others, in some order.
func (h raced) deliver(t *testing.T, s ofKind, at view.Target, part int, dice *rand.Rand) {
	var call []view.Mutation
	for _, i := range dice.Perm(len(h.changes)) {
		if i%4 != part && dice.IntN(4) > 0 {
			continue
		}
		for _, m := range h.changes[i] {
			m.Fresh = dice.IntN(2) == 0
			taken := slices.ContainsFunc(call, func(o view.Mutation) bool { return o.SK.Equal(m.SK) })
			if taken || dice.IntN(3) == 0 {
				h.write(t, s, at, call)
				call = nil
			}
			m.Joined = m.Joined && len(call) > 0 && call[len(call)-1].Version == m.Version
			call = append(call, m)
		}
	}
	h.write(t, s, at, call)
}

// write tries until nothing fails.
func (h raced) write(t *testing.T, s ofKind, at view.Target, ms []view.Mutation) {
	for len(ms) > 0 {
		rs, err := s.Apply(t.Context(), at, ms)
		if err != nil {
			if _, again := pipeline.Retryable(err); !again {
				t.Error(err)
				return
			}
			continue
		}
		var left []view.Mutation
		for i, r := range rs {
			switch _, again := pipeline.Retryable(r.Err); {
			case again:
				left = append(left, ms[i])
			case r.Err != nil:
				t.Error(r.Err)
			}
		}
		ms = left
	}
}

func (h raced) check(t *testing.T, s ofKind, suite Suite, at view.Target, when string) {
	t.Helper()
	want := []string{`{"PK":{"S":"other"},"SK":{"S":"0"},"text":{"S":"is not in it"}}`}
	in, inspects := s.inspector()
	for _, sk := range []string{"0", "1", "2"} {
		newest, ok := h.newest[sk]
		if !ok {
			continue
		}
		if !newest.Tombstone {
			text, _ := newest.Attributes[0].Value.Text()
			want = append(want, fmt.Sprintf(`{"PK":{"S":"r"},"SK":{"S":"%s"},"text":{"S":"%s"}}`, sk, text))
		}
		if !inspects {
			continue
		}
		key, err := state.MakeRow(newest.PK, newest.SK)
		need(t, err)
		found, err := in.StoredRows(t.Context(), at, []state.Row{key})
		if err != nil || !found[0].Exists || found[0].Tombstone != newest.Tombstone || found[0].Version != newest.Version {
			t.Errorf("%s the row %s is %+v (%v), want version %s, a tombstone: %v", when, sk, found, err, newest.Version, newest.Tombstone)
		}
	}
	same(t, "rows "+when, rows(t, s, at.Table, view.Query{}), want)
	at.InPlace = s.inPlace
	suite.live(t, s.Store, at, len(want), when)
}

// live checks what a plain reader of a table finds.
func (suite Suite) live(t *testing.T, s Store, at view.Target, rows int, when string) {
	t.Helper()
	n, err := suite.Plain(t.Context(), s, at.Table)
	need(t, err)
	if !at.InPlace && n != rows {
		t.Errorf("%s a plain reader of the table finds %d items, and there are %d rows", when, n, rows)
	}
}
