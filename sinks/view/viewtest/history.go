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

// history is a history of a few rows. Each version puts a row, removes a row, or moves a row to another key.
type history struct {
	changes [][]view.Mutation        // mutations of each version
	newest  map[string]view.Mutation // last mutation of each row, by sort key
}

func newHistory(t *testing.T, random *rand.Rand) history {
	h := history{newest: make(map[string]view.Mutation)}
	for v := range 24 {
		var c []view.Mutation
		keys := random.Perm(3)
		operation := random.IntN(4)
		if operation > 0 {
			c = append(c, putRow(t, "r", fmt.Sprint(keys[0]), v+1, fmt.Sprint("version ", v+1)))
		}
		if operation < 2 {
			gone := tombstone(t, "r", fmt.Sprint(keys[1]), v+1)
			gone.WithPrevious = operation > 0
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

// checkRaces writes one history with several writers at the same time. Each writer writes a fourth of the changes, and
// some of the remaining ones. It writes them in random order, in one call or several, with right and wrong hints.
// Afterwards each row must have its newest version. If tombstones are apart, a reader that does not know tombstones
// must find no other items. Writing each version once more must change nothing.
func checkRaces(t *testing.T, s Store, target view.Target, suite Suite) {
	for seed := range uint64(4) {
		h := newHistory(t, rand.New(rand.NewPCG(seed, 1)))
		raceTarget := target
		raceTarget.Name = fmt.Sprintf("raced %d", seed)
		apply(t, s, raceTarget, putRow(t, "other", "0", 1, "is not in it")) // also creates the table
		var writers sync.WaitGroup
		for w := range uint64(4) {
			writers.Go(func() { h.deliver(t, s, raceTarget, int(w), rand.New(rand.NewPCG(seed, 10+w))) })
		}
		writers.Wait()
		h.check(t, s, suite, raceTarget, "after the race")
		for _, c := range h.changes {
			for _, m := range c {
				h.write(t, s, raceTarget, []view.Mutation{m})
			}
		}
		h.check(t, s, suite, raceTarget, "after each version once more")
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// deliver writes every fourth change, starting at part, and some other changes, in random order.
func (h history) deliver(t *testing.T, s Store, at view.Target, part int, random *rand.Rand) {
	var call []view.Mutation
	for _, i := range random.Perm(len(h.changes)) {
		if i%4 != part && random.IntN(4) > 0 {
			continue
		}
		for _, m := range h.changes[i] {
			m.LikelyNew = random.IntN(2) == 0
			rowInBatch := slices.ContainsFunc(call, func(o view.Mutation) bool { return o.SK.Equal(m.SK) })
			if rowInBatch || random.IntN(3) == 0 {
				h.write(t, s, at, call)
				call = nil
			}
			m.WithPrevious = m.WithPrevious && len(call) > 0 && call[len(call)-1].Version == m.Version
			call = append(call, m)
		}
	}
	h.write(t, s, at, call)
}

// write writes mutations, and repeats those that fail with a transient error.
func (h history) write(t *testing.T, s Store, at view.Target, ms []view.Mutation) {
	for len(ms) > 0 {
		rs, err := s.Apply(t.Context(), at, ms)
		if err != nil {
			if _, retryable := pipeline.Retryable(err); !retryable {
				t.Error(err)
				return
			}
			continue
		}
		var retries []view.Mutation
		for i, r := range rs {
			switch _, retryable := pipeline.Retryable(r.Err); {
			case retryable:
				retries = append(retries, ms[i])
			case r.Err != nil:
				t.Error(r.Err)
			}
		}
		ms = retries
	}
}

func (h history) check(t *testing.T, s Store, suite Suite, at view.Target, when string) {
	t.Helper()
	want := []string{`{"PK":{"S":"other"},"SK":{"S":"0"},"text":{"S":"is not in it"}}`}
	in, inspects := s.(view.Inspector)
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
		found, err := in.StoredRows(t.Context(), at, []state.Row{rowOf(t, newest)})
		if err != nil || !found[0].Exists || found[0].Tombstone != newest.Tombstone || found[0].Version != newest.Version {
			t.Errorf("%s the row %s is %+v (%v), want version %s, a tombstone: %v", when, sk, found, err, newest.Version,
				newest.Tombstone)
		}
	}
	checkEqual(t, "rows "+when, readRows(t, s, at.Table, view.Query{}), want)
	if n, err := suite.Plain(t.Context(), s, at.Table); err != nil || !at.InPlace && n != len(want) {
		t.Errorf("%s a plain reader of the table finds %d items (%v), and there are %d rows", when, n, err, len(want))
	}
}
