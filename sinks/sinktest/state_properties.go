package sinktest

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/record"
)

// midStream: the first part of the stream is never delivered. Items that change later must be correct, although the
// sink has never seen the old image of their first delivered change. Items that do not change later must not be in the
// store.
func midStream(t *testing.T, s Suite) {
	check(t, s, func(rt *rapid.T, st *stage) {
		whole := st.stream
		from := rapid.IntRange(0, len(whole.Changes)-1).Draw(rt, "from")
		st.stream = &Stream{Records: whole.Records[from:], Changes: whole.Changes[from:]}
		st.run(st.worker(nil), drawBatches(rt, drawRedeliveries(rt, st.stream.Changes)))
		st.compareWithModel("a start in mid-stream")
	})
}

// lostRange: a range of the stream is lost. Each item that changed in that range must be correct after its next change.
func lostRange(t *testing.T, s Suite) {
	check(t, s, func(rt *rapid.T, st *stage) {
		from := rapid.IntRange(0, len(st.stream.Records)-1).Draw(rt, "from")
		to := rapid.IntRange(from+1, len(st.stream.Records)).Draw(rt, "to")
		healed, err := Build(append(slices.Clone(st.stream.Records), drawHealing(rt, st.stream.Records, from, to)...)...)
		if err != nil {
			rt.Fatal(err)
		}
		st.stream = &Stream{Records: slices.Delete(healed.Records, from, to),
			Changes: slices.Delete(healed.Changes, from, to)}
		st.run(st.worker(nil), drawBatches(rt, st.stream.Changes))
		st.compareWithModel("a range was lost and its items changed once more")
		st.run(st.worker(nil), drawBatches(rt, drawRedeliveries(rt, suffix(rt, st.stream.Changes))))
		st.compareWithModel("a suffix was replayed behind the loss")
	})
}

// drawHealing draws one more change of each item that changed in records[from:to].
func drawHealing(t *rapid.T, records []Record, from, to int) []Record {
	type row struct {
		keys, image Item
		lostAChange bool
	}
	table := make(map[string]*row)
	var order []*row
	var last Record // the last record of the stream
	for i, r := range records {
		it, known := table[r.KeyText()]
		if !known {
			it = &row{keys: r.Keys}
			table[r.KeyText()] = it
			order = append(order, it)
		}
		it.image = r.New
		isLost := from <= i && i < to
		it.lostAChange = it.lostAChange || isLost
		if r.EventName != snapshot {
			last = r
		}
	}
	start, _ := new(big.Int).SetString(last.Sequence, 10)
	next := newSequence(start)
	var healing []Record
	for _, it := range order {
		if it.lostAChange {
			r := drawChange(t, StreamOptions{}, it.keys, it.image)
			r.Second, r.Sequence = last.Second+1, next(1)
			healing = append(healing, r)
		}
	}
	return healing
}

// contested: three items request one row, in every order of arrival. Which item gets the row must depend on the items
// alone, not on the order.
func contested(t *testing.T, s Suite) {
	f := s.fact()
	records := []Record{f.record('a', "", "shipped"), f.record('a', "shipped", "paid"), f.record('b', "", "paid"),
		f.record('c', "", "paid")}
	for _, order := range interleavings("aabc") {
		runFixed(t, s, func(st *stage) {
			all := st.stream.Changes
			left := map[byte][]*record.Change{'a': all[:2], 'b': all[2:3], 'c': all[3:]} // by item
			var changes []*record.Change
			for _, letter := range []byte(order) {
				changes = append(changes, left[letter][0])
				left[letter] = left[letter][1:]
			}
			st.must(st.worker(nil).all(st, changes, 1))
			st.compareWithModel("items came for one state in the order " + order)
		}, slices.Clone(records)...)
	}
}

// interleavings returns the different orders of the letters of text, sorted. For example, "aab" has the orders aab, aba
// and baa.
func interleavings(text string) []string {
	if text == "" {
		return []string{""}
	}
	var all []string
	for i := range len(text) {
		if strings.IndexByte(text, text[i]) < i {
			continue // this letter was first before, and gave the same orders
		}
		for _, rest := range interleavings(text[:i] + text[i+1:]) {
			all = append(all, text[i:i+1]+rest)
		}
	}
	return all
}

// handOver: items take over each other's statuses, in a chain or in a cycle. For example, item a takes the status that
// item b leaves. The changes come in every order across items, and in batches of several lengths.
func handOver(t *testing.T, s Suite) {
	f := s.fact()
	begin := []Record{f.record('a', "", "paid"), f.record('b', "", "shipped"), f.record('c', "", "a#b")}
	for name, moves := range map[string][]Record{
		"a chain": {f.record('a', "paid", "shipped"), f.record('b', "shipped", "a#b"), f.record('c', "a#b", "")},
		"a cycle": {f.record('a', "paid", "shipped"), f.record('b', "shipped", "a#b"), f.record('c', "a#b", "paid")},
	} {
		records := append(slices.Clone(begin), moves...)
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			for _, n := range []int{1, 2, len(records)} {
				runFixed(t, s, func(st *stage) {
					changes := slices.Clone(st.stream.Changes[:len(begin)])
					for _, i := range order {
						changes = append(changes, st.stream.Changes[len(begin)+i])
					}
					st.must(st.worker(nil).all(st, changes, n))
					st.compareWithModel(name + " of items that pass their states on")
				}, records...)
			}
		}
	}
}
