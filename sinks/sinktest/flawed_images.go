package sinktest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Flaws are attributes of images. The sink of [Store.Flawed] cannot plan or write an image with a flaw. The sink of
// [Store.Sink] ignores flaws. Valid images have none.
const (
	FlawWhen = "FlawWhen" // M: the condition cannot be evaluated
	// FlawKey is an L, or an S of 2,100 bytes. A key or a name that is made from FlawKey has a wrong type, or is too
	// long
	FlawKey   = "FlawKey"
	FlawField = "FlawField" // L: a stored value that is not a key cannot be made from it
	FlawValue = "FlawValue" // S that is not a number, where the sink needs a number
	FlawStore = "FlawStore" // S, which is [Refused]: the store permanently refuses the write
)

// Refused is the value of [FlawStore].
const Refused = "refuse me"

// IsFlawed reports whether an image has a flaw.
func IsFlawed(image Item) bool {
	for name := range image {
		if strings.HasPrefix(name, "Flaw") {
			return true
		}
	}
	return false
}

// flaws are the flaws, each with a value that spoils an image.
var flaws = []struct {
	name  string
	value Attr
}{
	{FlawWhen, Attr{"M": Item{}}},
	{FlawKey, Attr{"L": []Attr{}}},
	{FlawKey, Attr{"S": strings.Repeat("long", 525)}},
	{FlawField, Attr{"L": []Attr{}}},
	{FlawValue, Attr{"S": Refused}},
	{FlawStore, Attr{"S": Refused}},
}

// drawFlaw adds a flaw to the image, or leaves the image as it is, at random.
func drawFlaw(t *rapid.T, image Item) {
	if rapid.IntRange(0, 2).Draw(t, "flawed") == 0 {
		flaw := rapid.SampledFrom(flaws).Draw(t, "flaw")
		image[flaw.name] = flaw.value
	}
}

// flawed: if an image cannot be planned, nothing of the item's former state may stay in the store, and later changes
// and removals must work. The dead letters are redriven twice: first without success, and then after the settings were
// corrected. After that the store must have the result of a clean pass under the corrected settings, even if a worker
// with the old settings writes late.
func flawed(t *testing.T, s Suite) {
	s.Stream.flaws = true
	runFixed(t, s, func(st *stage) {
		broken := st.flawedWorker()
		st.must(broken.all(st, st.stream.Changes, 1))
		st.compareWithoutFlawed("a pass with images that nothing can be made of")
		st.redriveTooEarly(broken)
		st.redriveCorrected(broken)
	}, s.fact().flawedHistory()...)
	check(t, s, func(rt *rapid.T, st *stage) {
		broken := st.flawedWorker()
		st.run(broken, drawBatches(rt, drawRedeliveries(rt, st.stream.Changes)))
		st.compareWithoutFlawed("a pass with images that nothing can be made of")
		if rapid.Bool().Draw(rt, "too early") {
			st.redriveTooEarly(broken)
		}
		st.redriveCorrected(broken)
		if !s.LastWins {
			st.run(st.flawedWorker(), drawBatches(rt, suffix(rt, st.stream.Changes)))
			st.compareWithModel("a worker with the old settings came late")
		}
		st.run(st.worker(nil), drawBatches(rt, drawRedeliveries(rt, suffix(rt, st.stream.Changes))))
		st.compareWithModel("a suffix was replayed under the fixed settings")
	})
}

// compareWithoutFlawed is compareWithModel, except that an item with a flawed image must not be in the store.
func (st *stage) compareWithoutFlawed(after string) {
	st.tb.Helper()
	whole := st.stream
	defer func() { st.stream = whole }()
	st.stream = &Stream{Records: slices.Clone(whole.Records), Changes: whole.Changes}
	for i := range st.stream.Records {
		if IsFlawed(st.stream.Records[i].New) {
			st.stream.Records[i].New = nil
		}
	}
	st.compareWithModel(after)
}

// redriveTooEarly redrives the failures of broken under the old settings.
func (st *stage) redriveTooEarly(broken *worker) {
	st.tb.Helper()
	st.must(broken.redrive(st.ctx))
	st.compareWithoutFlawed("a redrive before the settings were fixed")
}

// redriveCorrected redrives the failures of broken under corrected settings.
func (st *stage) redriveCorrected(broken *worker) {
	st.tb.Helper()
	fixed := st.worker(nil)
	fixed.dead = broken.letters()
	st.must(fixed.redrive(st.ctx))
	st.must(fixed.flush(st.ctx))
	st.compareWithModel("the settings were fixed and every letter was redriven")
}

// flawedHistory returns changes for each flaw. Each combination of a flaw and the following choices has its own item.
// The item gets the flaw while it keeps or changes its status. After that, the item has no more records, or it loses
// the flaw and keeps its status, changes its status, or is removed.
func (f fact) flawedHistory() []Record {
	const noMore, changed, removed = "no more records", "a#b", ""
	var records []Record
	letter := byte('A')
	for _, flaw := range flaws {
		for _, to := range []string{"paid", "shipped"} {
			for _, then := range []string{noMore, to, changed, removed} {
				spoil, after := f.record(letter, "paid", to), f.record(letter, to, then)
				spoil.New[flaw.name] = flaw.value
				after.Old = spoil.New
				records = append(records, f.record(letter, "", "paid"), spoil)
				if then != noMore {
					records = append(records, after)
				}
				if then == changed {
					records = append(records, f.record(letter, changed, changed), f.record(letter, changed, removed))
				}
				letter++
			}
		}
	}
	return records
}

// flawedWorker returns a worker whose sink fails on flawed images.
func (st *stage) flawedWorker() *worker {
	st.tb.Helper()
	sink, err := st.store.Flawed(NewFaults())
	if err != nil {
		st.tb.Fatalf("sink: %v", err)
	}
	return &worker{sink: sink, events: st.suite.Events, refused: func(error) bool { return true }}
}

// letters returns the changes that failed permanently, each change once, in the order of versions.
func (w *worker) letters() []letter {
	once := make(map[string]letter)
	for _, l := range w.dead {
		once[string(l.change.Key)+" "+l.change.Version.String()] = l
	}
	return slices.SortedFunc(maps.Values(once), func(a, b letter) int {
		return cmp.Or(a.change.Version.Compare(b.change.Version), cmp.Compare(a.change.Key, b.change.Key))
	})
}
