package sinktest

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// Suite is a sink under test.
type Suite struct {
	// Open opens the sink's store in dir, as a process does that starts: new, or
	// as an earlier one left it. Required.
	Open func(dir string) (Store, error)

	// Model is the state that one clean pass over the stream must leave, as
	// Store.State reports it. In whatever order items came, it is the same. Required.
	Model func(s *Stream) map[string]string

	// Refused tells whether a permanent error of a Write is what the sink is
	// meant to say, as it is of two items that claim one row: the change is then
	// dead-lettered, and must have done its part all the same. Default: none is.
	Refused func(err error) bool

	// ByState is for sinks that compare an item with what they know of it and never
	// read its old image. It adds the properties MidStream, LostRange, HandOver and Contested. The
	// model is then also asked about streams that begin with a change of an item that
	// is there already, and about streams with a gap.
	ByState bool

	// Flaws is for sinks whose settings, or whose store, can't make anything of some images.
	// It adds the property Flawed, and needs [Store.Flawed].
	Flaws bool

	// LastWins says that of two writes of one version the last one stays: no worker with
	// other settings then comes late in the property Flawed.
	LastWins bool

	// Events are what detectors raise for a change. Default: none.
	Events func(c *record.Change) []pipeline.Event

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

	// Flawed makes a sink with settings that an image with one of the attributes [FlawWhen]
	// and so on spoils, as far as it has a use for it; of all other images it makes
	// what Sink's sinks do. Required where [Suite.Flaws] is set.
	Flawed func(f *Faults) (pipeline.Sink, error)

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
		all = append(all, property{"MidStream", midStream}, property{"LostRange", lostRange}, property{"HandOver", handOver}, property{"Contested", contested})
	}
	if s.Flaws {
		all = append(all, property{"Flawed", flawed})
	}
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) { p.run(t, s) })
	}
}
