package sinktest

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline"
)

// Suite is a sink under test.
type Suite struct {
	// Open opens the sink's store in dir, as a process does that starts: new, or
	// as an earlier one left it. Required.
	Open func(dir string) (Store, error)

	// Model is the state that one clean pass over the stream must leave, as
	// Store.State reports it. Required.
	Model func(s *Stream) map[string]string

	// Events are what detectors raise for a change. Default: none.
	Events func(c *pipeline.Change) []pipeline.Event

	// Stream shapes the random streams.
	Stream StreamOptions

	// Checks is how many random streams each property is tried on. Default: as
	// many as rapid does, 100 or what -rapid.checks says. For stores that are slow to open.
	Checks int
}

// Store is a sink's store, open.
type Store struct {
	// Sink makes a sink on the store: what each worker of the pipeline has. All
	// that the sink does to the store goes through f.Call. Required. Where several
	// processes may have the store open, the sink should open it by itself.
	Sink func(f *Faults) (pipeline.Sink, error)

	// State reads the store back, through no cache of a sink's: what a reader
	// finds, by a key, as text that is equal for equal content. What the reader
	// is promised to see once is in it once. Required.
	State func() (map[string]string, error)

	// Close closes the store as a process does that ends in peace. Default: nothing to close.
	Close func() error

	// Kill lets go of the store without flushing anything, as a killed process
	// does. Default: Close.
	Kill func() error
}

// Run checks the sink. Each property is a subtest; what fails shows the
// smallest stream and schedule found that fails it.
func Run(t *testing.T, s Suite) {
	t.Helper()
	if s.Open == nil || s.Model == nil {
		t.Fatal("sinktest: a Suite needs Open and Model")
	}
	for _, p := range []struct {
		name string
		run  func(*testing.T, Suite)
	}{
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
	} {
		t.Run(p.name, func(t *testing.T) { p.run(t, s) })
	}
}
