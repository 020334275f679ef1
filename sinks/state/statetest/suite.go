// Package statetest is the conformance suite for implementations of [state.Store]. It checks quarantine marks, gaps,
// births, backfills, fingerprints and notes of held-back consumers, which package state explains. [Run] runs all
// checks. Package viewtest checks guards and contributions, because they change together with rows.
package statetest

import (
	"context"
	"iter"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
)

// Store is a store under test.
type Store interface {
	state.Fingerprints
	Close() error
}

// Suite describes the kind of store under test.
type Suite struct {
	// Open opens the store in dir, or creates it. If the store is open already, the new store acts as another process.
	// Required.
	Open func(ctx context.Context, dir string) (Store, error)

	// State returns the state of a pipeline in the store. Required.
	State func(s Store, pipeline string) state.Store
}

// Run runs all checks. Each check has a store of its own.
func Run(t *testing.T, suite Suite) {
	for name, check := range map[string]func(*testing.T, *fixture){
		"MarksInEveryProcess":    checkMarksInEveryProcess,
		"ManyKeys":               checkManyKeys,
		"ClearIsConditional":     checkClearIsConditional,
		"MarksComeInOrder":       checkMarksComeInOrder,
		"PipelinesAreApart":      checkPipelinesAreApart,
		"GapsComeBack":           checkGapsAreReadBack,
		"GapsAreTakenOnce":       checkGapsAreTakenOnce,
		"HeldBackComesBack":      checkHeldBackIsReadBack,
		"FingerprintsComeBack":   checkFingerprintsAreReadBack,
		"BirthsComeBack":         checkBirthsAreReadBack,
		"BirthsAreOne":           checkOneBirthIsStored,
		"BirthsChangeAsRead":     checkBirthsChangeAsRead,
		"BirthsCompareAllFields": checkBirthFieldsAreCompared,
		"StagesMoveOnce":         checkStagesMoveOnce,
		"BackfillsComeBack":      checkBackfillsAreReadBack,
		"BackfillsAreOne":        checkOneBackfillIsStored,
		"BackfillsAreRemoved":    checkBackfillsAreRemoved,
		"PartsComeBack":          checkPartsAreReadBack,
		"PartsChangeAsRead":      checkPartsChangeAsRead,
		"PartsAreClaimedOnce":    checkPartsAreClaimedOnce,
		"PartsAreChecked":        checkInvalidParts,
		"IdentityStays":          checkIdentityStays,
		"ReadingMayWrite":        checkWritesDuringReads,
		"ClosedStoreSaysSo":      checkClosedStoreFails,
		"CancelledCallSaysSo":    checkCancelledCallFails,
		"RedriveAgainstMarking":  checkRedriveAgainstMarking,
	} {
		t.Run(name, func(t *testing.T) {
			f := &fixture{t: t, suite: suite, dir: t.TempDir()}
			f.Store = f.open()
			f.state = suite.State(f.Store, "test")
			check(t, f)
		})
	}
	t.Run("Gaps", func(t *testing.T) {
		RunGaps(t, func(t *testing.T) state.Gaps {
			f := &fixture{t: t, suite: suite, dir: t.TempDir()}
			return suite.State(f.open(), "test")
		})
	})
}

// fixture is an open store with the state of one pipeline.
type fixture struct {
	Store
	t     *testing.T
	suite Suite
	dir   string
	state state.Store
}

// open opens the store again, as another process.
func (f *fixture) open() Store {
	f.t.Helper()
	s, err := f.suite.Open(f.t.Context(), f.dir)
	must(f.t, err)
	f.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return s
}

// processes calls do at once in n processes, each with a store of its own, and returns the results.
func processes[T any](f *fixture, n int, do func(i int, s state.Store) (T, error)) []T {
	got := make([]T, n)
	var all sync.WaitGroup
	for i := range n {
		s := f.suite.State(f.open(), "test")
		all.Go(func() {
			var err error
			if got[i], err = do(i, s); err != nil {
				f.t.Error(err)
			}
		})
	}
	all.Wait()
	return got
}

// expectSame checks that all processes got the same result.
func expectSame[T comparable](t *testing.T, got []T) {
	for _, v := range got {
		if v != got[0] {
			t.Errorf("one has %+v, another %+v", v, got[0])
		}
	}
}

func (f *fixture) markKeys(s state.Store, sink string, keys ...item.Key) {
	f.t.Helper()
	must(f.t, s.MarkKeys(f.t.Context(), sink, keys))
}

// expectMarked checks which of the keys a, b and c are marked.
func (f *fixture) expectMarked(s state.Store, sink, want string) {
	f.t.Helper()
	keys := []item.Key{"a", "b", "c"}
	marked, err := s.HasMarks(f.t.Context(), sink, keys)
	if err != nil || len(marked) != len(keys) {
		f.t.Fatalf("%d answers for %d keys, %v", len(marked), len(keys), err)
	}
	got := ""
	for i, yes := range marked {
		if yes {
			got += string(keys[i])
		}
	}
	if got != want {
		f.t.Errorf("the marks of the sink %s are %q, want %q", sink, got, want)
	}
}

func (f *fixture) marks(s state.Store, sink string) []state.Mark {
	f.t.Helper()
	return collect(f.t, s.Marks(f.t.Context(), sink))
}

func (f *fixture) clear(s state.Store, m state.Mark) bool {
	f.t.Helper()
	cleared, err := s.Clear(f.t.Context(), m)
	must(f.t, err)
	return cleared
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// collect returns the values of a sequence, and ends the test on an error.
func collect[T any](t *testing.T, values iter.Seq2[T, error]) []T {
	t.Helper()
	all, err := seq.Collect(values)
	must(t, err)
	return all
}
