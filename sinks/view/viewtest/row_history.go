package viewtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
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
		put := putRow(t, "r", "", v+1, fmt.Sprint("version ", v+1))
		gone := tombstone(t, "r", "", v+1)
		keys := random.Perm(3)
		put.SK, gone.SK = item.StringValue(fmt.Sprint(keys[0])), item.StringValue(fmt.Sprint(keys[1]))

		var change []view.Mutation
		switch random.IntN(4) {
		case 0:
			change = []view.Mutation{gone}
		case 1: // a move
			gone.EndsMove = true
			change = []view.Mutation{put, gone}
		default:
			change = []view.Mutation{put}
		}
		for _, m := range change {
			sk, _ := m.SK.Text()
			h.newest[sk] = m
		}
		h.changes = append(h.changes, change)
	}
	return h
}

// checkRaces writes a history with several writers at the same time. Each writer writes a fourth of the changes, and
// some of the remaining ones. It writes them in random order, in one call or several, with right and wrong hints.
// Afterwards each row must have its newest version. If tombstones are apart, a reader that does not know tombstones
// must find no other items. If each version is written once more, nothing may change.
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
		for _, m := range slices.Concat(h.changes...) {
			h.write(t, s, raceTarget, []view.Mutation{m})
		}
		h.check(t, s, suite, raceTarget, "after each version once more")
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// deliver writes the changes with the indexes part, part+4, part+8 and so on, and some other changes, in random order.
func (h history) deliver(t *testing.T, s Store, target view.Target, part int, random *rand.Rand) {
	var call []view.Mutation // mutations of the next call
	for _, i := range random.Perm(len(h.changes)) {
		isOwn := i%4 == part
		if !isOwn && random.IntN(4) > 0 {
			continue
		}
		for _, m := range h.changes[i] {
			m.LikelyNew = random.IntN(2) == 0
			hasRow := slices.ContainsFunc(call, func(other view.Mutation) bool { return other.SK.Equal(m.SK) })
			if hasRow || random.IntN(3) == 0 { // a call has one mutation of a row
				h.write(t, s, target, call)
				call = nil
			}
			// A tombstone ends a move only if the new row, which is written before it, is in the same call.
			hasNewRow := len(call) > 0 && call[len(call)-1].Version == m.Version
			m.EndsMove = m.EndsMove && hasNewRow
			call = append(call, m)
		}
	}
	h.write(t, s, target, call)
}

// write writes mutations, and repeats the mutations that fail with a transient error.
func (h history) write(t *testing.T, s Store, target view.Target, ms []view.Mutation) {
	for len(ms) > 0 {
		rs, err := s.Apply(t.Context(), target, ms)
		if err != nil {
			if _, retryable := pipeline.Retryable(err); !retryable {
				t.Error(err)
				return
			}
			continue
		}
		var retries []view.Mutation
		for i, r := range rs {
			_, retryable := pipeline.Retryable(r.Err)
			switch {
			case retryable:
				retries = append(retries, ms[i])
			case r.Err != nil:
				t.Error(r.Err)
			}
		}
		ms = retries
	}
}

// check checks that each row has its newest version, and that the table has no other rows of the history.
func (h history) check(t *testing.T, s Store, suite Suite, target view.Target, when string) {
	t.Helper()
	want := []string{`{"PK":{"S":"other"},"SK":{"S":"0"},"text":{"S":"is not in it"}}`}
	for _, sk := range slices.Sorted(maps.Keys(h.newest)) {
		newest := h.newest[sk]
		if !newest.Tombstone {
			text, _ := newest.Attributes[0].Value.Text()
			want = append(want, fmt.Sprintf(`{"PK":{"S":"r"},"SK":{"S":"%s"},"text":{"S":"%s"}}`, sk, text))
		}
		if in, isInspector := s.(view.Inspector); isInspector {
			checkNewest(t, in, target, newest, when)
		}
	}
	checkEqual(t, "rows "+when, readRows(t, s, target.Table, view.Query{}), want)
	n, err := suite.CountItems(t.Context(), s, target.Table)
	isCountWrong := !target.InPlace && n != len(want) // tombstones in place are items, too
	if err != nil || isCountWrong {
		t.Errorf("%s a plain reader of the table finds %d items (%v), and there are %d rows", when, n, err, len(want))
	}
}

// checkNewest checks that the stored row, or its tombstone, is that of the row's newest mutation.
func checkNewest(t *testing.T, in view.Inspector, target view.Target, newest view.Mutation, when string) {
	t.Helper()
	stored, err := in.StoredRows(t.Context(), target, []state.Row{rowOf(t, newest)})
	if err != nil || !stored[0].Exists || stored[0].Tombstone != newest.Tombstone ||
		stored[0].Version != newest.Version {
		sk, _ := newest.SK.Text()
		t.Errorf("%s the row %s is %+v (%v), want version %s, a tombstone: %v", when, sk, stored, err, newest.Version,
			newest.Tombstone)
	}
}
