package sinktest

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Suite describes a sink under test.
type Suite struct {
	// Open opens the sink's store in dir, as a starting process does. dir is empty, or was left by an earlier process.
	// Required.
	Open func(dir string) (Store, error)

	// Model returns the required state after one clean pass over the stream, in the form of Store.State. It does not
	// depend on the order of the items. Required.
	Model func(s *Stream) map[string]string

	// Refused reports whether a permanent error of a Write is correct. For example, such an error is correct if two
	// items claim one row. The change is then dead-lettered, and all other effects of the change must have happened.
	// Default: no permanent error is correct.
	Refused func(err error) bool

	// ByState is true for sinks that compare an item with what they remember of it, and never read its old image. It
	// adds the properties MidStream, LostRange, HandOver and Contested. The model then also gets streams that begin
	// with a change of an existing item, and streams in which a range of records is lost.
	ByState bool

	// Flaws is true for sinks that cannot plan some images, because of their settings or their store. It adds the
	// property Flawed, and needs [Store.Flawed].
	Flaws bool

	// LastWins is true if the last of several writes of one version stays. The property Flawed then has no late worker
	// with other settings.
	LastWins bool

	// Events returns the events that detectors raise for a change. Default: none.
	Events func(c *record.Change) []pipeline.Event

	// Stream shapes the random streams.
	Stream StreamOptions

	// Checks is the number of random streams for each property, for stores that are slow to open. Default: rapid's,
	// which is 100 or -rapid.checks.
	Checks int
}

// Store is an open store of a sink.
type Store struct {
	// Sink makes a sink on the store, for one worker of the pipeline. All calls of the sink to the store go through
	// f.Call. Required. If several processes may have the store open, the sink should open it itself.
	Sink func(f *Faults) (pipeline.Sink, error)

	// Flawed makes a sink with settings that fail on images with flaws ([FlawWhen] and the constants after it). Some
	// flaws may have no effect on the sink. On images without flaws, it does the same as a sink of Sink. Required if
	// [Suite.Flaws] is set.
	Flawed func(f *Faults) (pipeline.Sink, error)

	// State reads the contents of the store, as a reader sees them, without any cache of a sink. It returns a text for
	// each entry, by a key. Equal contents have equal texts. If a reader sees an entry twice, State returns an error.
	// Required.
	State func() (map[string]string, error)

	// Close closes the store, as a process does when it ends normally. Default: nothing to close.
	Close func() error

	// Kill releases the store without flushing anything, as if the process was killed. Default: Close.
	Kill func() error
}

// Run checks the sink. Each property is a subtest. A failure shows the smallest failing stream and schedule that was
// found.
func Run(t *testing.T, s Suite) {
	t.Helper()
	if s.Open == nil || s.Model == nil {
		t.Fatal("sinktest: a Suite needs Open and Model")
	}
	type property struct {
		name string
		run  func(*testing.T, Suite)
	}
	all := []property{
		{"OnePass", onePass},
		{"Shuffled", shuffled},
		{"Replayed", replayed},
		{"Zombie", zombie},
		{"Faults", faults},
		{"Crash", crash},
		{"Concurrent", concurrent},
		{"Fact1_SequencesAreNumbers", sequencesAreNumbers},
		{"Fact19_LateWriteAfterDelete", lateWriteAfterDelete},
		{"Fact20_OneSecond", oneSecond},
		{"Fact21_DeleteThenInsertInOneBatch", deleteThenInsert},
		{"Fact24_PartOfABatchFails", partOfABatch},
		{"TTLDelete", ttlDelete},
		{"UnknownOperation", unknownOperation},
	}
	if s.ByState {
		all = append(all, property{"MidStream", midStream}, property{"LostRange", lostRange}, property{"HandOver", handOver},
			property{"Contested", contested})
	}
	if s.Flaws {
		all = append(all, property{"Flawed", flawed})
	}
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) { p.run(t, s) })
	}
}
