package searchtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
)

// RepairSuite describes a kind of store under test. The tests damage its documents and repair them.
type RepairSuite struct {
	// Open opens the store of the index. A second call opens the same index, as another process does. Required.
	Open func(t *testing.T) RepairedStore

	// Index is the name of an index that holds nothing. Required.
	Index string

	// Set and Remove change a document as a person does, without the store. Required.
	Set    func(t *testing.T, id, doc string)
	Remove func(t *testing.T, id string)

	// Between makes the next repair of a store call do between its last read and its first write. Default: not tested,
	// because a repair reads and writes in one transaction, so nothing can come between.
	Between func(s RepairedStore, do func())

	// Seconds is for stores that order changes only by the second in which they were made. Two repairs of a document
	// keep its second. So if they run at the same moment, both may be done.
	Seconds bool
}

// RepairedStore is a store under test.
type RepairedStore interface {
	search.Store
	search.Inspector
	search.Repairer
}

// RunRepairs checks that a store repairs documents.
func RunRepairs(t *testing.T, suite RepairSuite) {
	for name, check := range map[string]func(*testing.T, repairCheck){
		"Done":       checkRepairsAreDone,
		"Race":       checkRepairsRace,
		"Once":       checkRepairsCountOnce,
		"OtherBirth": checkRepairsOfAnotherBirth,
		"ByHand":     checkRepairsOfForeignDocuments,
	} {
		t.Run(name, func(t *testing.T) { check(t, repairCheck{suite.Open(t), t, suite}) })
	}
}

// repairCheck is a store with helpers.
type repairCheck struct {
	RepairedStore
	t *testing.T
	RepairSuite
}

// document returns a document whose version and whose field n are made from n. Its birth, the id of the output, is
// "first". It may be a tombstone. Each n has its own second.
func (s repairCheck) document(id string, n int, kind documentKind) search.Mutation {
	m := document(s.Index, id, n, "first", kind)
	m.Time = time.Unix(1767323045+int64(n), 0)
	return m
}

// wantedMutation returns the mutation that a repair stores if nothing is stored: see repairOne.
func (s repairCheck) wantedMutation(id string, kind documentKind) search.Mutation {
	m := s.document(id, 0, kind)
	m.Time = time.Time{}
	return m
}

func (s repairCheck) read(id string) search.StoredDocument {
	s.t.Helper()
	stored, err := s.ReadStored(s.t.Context(), s.Index, id, "")
	if err != nil {
		s.t.Fatal(err)
	}
	return stored
}

// repairOne makes one repair. If the expected document has a version, next gets the version of a repair of it.
func (s repairCheck) repairOne(expected search.StoredDocument, next search.Mutation) (search.Result, error) {
	s.t.Helper()
	if v := expected.Version; !v.IsZero() {
		former := []byte(next.Version.String())
		next.Version = v.NextRepair()
		next.Doc = bytes.Replace(next.Doc, former, []byte(next.Version.String()), 1)
	}
	results, err := s.RepairDocuments(s.t.Context(), []search.DocumentRepair{{Expected: expected, Next: next}})
	if err != nil {
		return search.Result{}, err
	}
	return results[0], nil
}

// expectRepair makes one repair and checks its result.
func (s repairCheck) expectRepair(
	what string, expected search.StoredDocument, next search.Mutation, want search.Result,
) {
	s.t.Helper()
	if r, err := s.repairOne(expected, next); err != nil || r != want {
		s.t.Errorf("%s: %+v (%v), want %+v", what, r, err, want)
	}
}

// The results that expectRepair checks for.
var (
	repaired  = search.Result{}
	overtaken = search.Result{Overtaken: true}
)

// apply writes a mutation, which must not be superseded.
func (s repairCheck) apply(what string, m search.Mutation) {
	s.t.Helper()
	results, err := s.Apply(s.t.Context(), []search.Mutation{m})
	if err != nil || results[0].Err != nil || results[0].Outcome == pipeline.Superseded {
		s.t.Fatalf("%s: %+v (%v), want it written", what, results, err)
	}
}

// applyLate writes a mutation, which must be superseded.
func (s repairCheck) applyLate(what string, m search.Mutation) {
	s.t.Helper()
	results, err := s.Apply(s.t.Context(), []search.Mutation{m})
	if err != nil || results[0].Err != nil || results[0].Outcome != pipeline.Superseded {
		s.t.Fatalf("%s: %+v (%v), want it superseded", what, results, err)
	}
}

// wantStored checks what is stored at an id: a document or a tombstone, its version, and the field n of a document.
func (s repairCheck) wantStored(what, id string, kind documentKind, v record.Version, n int) {
	s.t.Helper()
	stored := s.read(id)
	if !stored.Exists || stored.Tombstone != (kind == deleted) || stored.Version != v {
		s.t.Errorf("%s: stored is %s at version %s", what, stored.Doc, stored.Version)
	}
	if stored.Tombstone {
		return
	}

	var doc struct {
		Own struct{ Version string } `json:"_tw"`
		N   int
	}
	if err := json.Unmarshal(stored.Doc, &doc); err != nil {
		s.t.Fatal(err)
	}
	if doc.N != n || doc.Own.Version != v.String() {
		s.t.Errorf("%s: stored is %s at version %s", what, stored.Doc, stored.Version)
	}
}

func (s repairCheck) version(n int) record.Version { return s.document("", n, live).Version }

// each calls check with every pair of a stored state and a state to store. A state is nothing, a document, a tombstone
// or a void tombstone (of a change that no document could be made of). expected is the stored state as a repair reads
// it, and next is the mutation to store. v is the version that the repair stores.
func (s repairCheck) each(
	name string, check func(what, id string, expected search.StoredDocument, next search.Mutation, v record.Version),
) {
	s.t.Helper()
	s.apply("another document", s.document("another", 1, live)) // so that the index exists
	for _, found := range []string{"nothing", "document", "tombstone", "void"} {
		for _, kind := range []documentKind{live, deleted} {
			id, v := fmt.Sprintf("%s-%s-%v", name, found, kind), s.version(0)
			if found != "nothing" {
				m := s.document(id, 5, documentKind(found != "document"))
				m.Void = found == "void"
				if m.Void {
					m.Doc = fmt.Appendf(nil, `{"_tw":{"version":%q,"by":"test","birth":"first","deleted":true,"void":true}}`,
						m.Version)
				}
				s.apply(id, m)
				v = s.version(5).NextRepair()
			}
			check(fmt.Sprintf("%s, then tombstone %v", found, kind), id, s.read(id), s.wantedMutation(id, kind), v)
		}
	}
}

// checkRepairsAreDone checks that a repair stores its document. The same repair again is then lost. Newer changes
// replace the repaired document. Older changes and the change before the repair do not.
func checkRepairsAreDone(t *testing.T, s repairCheck) {
	s.each("done", func(what, id string, expected search.StoredDocument, next search.Mutation, v record.Version) {
		s.expectRepair(what, expected, next, repaired)
		s.wantStored(what, id, documentKind(next.Tombstone), v, 0)
		s.expectRepair(what+" again", expected, next, overtaken)
		if expected.Exists {
			s.applyLate(what+", then a late change", s.document(id, 4, live))
			if !s.Seconds { // a change of the same second is not older
				s.applyLate(what+", then the change again", s.document(id, 5, live))
			}
			s.wantStored(what+", then a late change", id, documentKind(next.Tombstone), v, 0)
		}
		s.apply(what+", then a newer change", s.document(id, 6, live))
		s.wantStored(what+", then a newer change", id, live, s.version(6), 6)
		s.apply(what+", then a newer removal", s.document(id, 7, deleted))
		s.wantStored(what+", then a newer removal", id, deleted, s.version(7), 0)
	})
}

// checkRepairsRace checks that a repair is lost if the stream, another repair or a person changed the document first.
// The change may also come between the read and the write of the repair.
func checkRepairsRace(t *testing.T, s repairCheck) {
	moments := map[string]func(event func()){"before": func(event func()) { event() }}
	if s.Between != nil {
		moments["between"] = func(event func()) { s.Between(s.RepairedStore, event) }
	}
	events := s.raceEvents()
	for moment, at := range moments {
		for name, event := range events {
			bySeconds := name == "newer" || name == "removed" // a store with Seconds orders these two events
			if s.Seconds && moment == "between" && !bySeconds {
				continue
			}
			t.Run(name+"/"+moment, func(t *testing.T) {
				repairCheck{s.RepairedStore, t, s.RepairSuite}.checkRace(name+"-"+moment, at, event)
			})
		}
	}
}

// raceEvent changes the document of an id, which a repair has read as expected. It returns false if it changed nothing.
type raceEvent func(id string, expected search.StoredDocument) (changed bool)

// raceEvents returns the events that make a repair lost, by name.
func (s repairCheck) raceEvents() map[string]raceEvent {
	other := repairCheck{s.Open(s.t), s.t, s.RepairSuite}
	return map[string]raceEvent{
		"newer": func(id string, _ search.StoredDocument) bool {
			other.apply(id, s.document(id, 6, live))
			return true
		},
		"removed": func(id string, _ search.StoredDocument) bool {
			other.apply(id, s.document(id, 6, deleted))
			return true
		},
		"repaired": func(id string, expected search.StoredDocument) bool {
			m := s.wantedMutation(id, live)
			m.Doc = append(m.Doc[:len(m.Doc)-1], `,"by":"another repair"}`...)
			other.expectRepair(id, expected, m, repaired)
			return true
		},
		"edited": func(id string, expected search.StoredDocument) bool {
			isLive := expected.Exists && !expected.Tombstone
			if isLive {
				s.Set(s.t, id, fmt.Sprintf(`{"_tw":{"version":%q,"by":"test","birth":"first"},"n":99}`, expected.Version))
			}
			return isLive
		},
		"deleted": func(id string, expected search.StoredDocument) bool {
			canBeLost := expected.Exists && !s.Seconds // a deleted document has no time that could be compared
			if canBeLost {
				s.Remove(s.t, id)
			}
			return canBeLost
		},
	}
}

// checkRace checks that each repair is lost if event happens at a moment, and that it leaves the document as it is.
func (s repairCheck) checkRace(name string, at func(event func()), event raceEvent) {
	s.each(name, func(what, id string, expected search.StoredDocument, next search.Mutation, _ record.Version) {
		changed := false
		var afterEvent search.StoredDocument
		at(func() { changed, afterEvent = event(id, expected), s.read(id) })
		r, err := s.repairOne(expected, next)
		if !changed {
			return
		}
		isLost := err == nil && r == overtaken
		if afterRepair := s.read(id); !isLost || !afterRepair.Matches(&afterEvent) {
			s.t.Errorf("%s: %+v (%v), want it lost; stored is %s", what, r, err, afterRepair.Doc)
		}
	})
}

// checkRepairsCountOnce checks several repairs of the same difference that run at the same time: one is done, and the
// others are lost.
func checkRepairsCountOnce(t *testing.T, s repairCheck) {
	processes := []repairCheck{s, {s.Open(t), t, s.RepairSuite}}
	s.each("once", func(what, id string, expected search.StoredDocument, next search.Mutation, v record.Version) {
		results, errs := make([]search.Result, 6), make([]error, 6)
		var repairs sync.WaitGroup
		for i := range results {
			repairs.Go(func() { results[i], errs[i] = processes[i%2].repairOne(expected, next) })
		}
		repairs.Wait()
		succeeded := 0
		for i, r := range results {
			switch {
			case errs[i] != nil || r.Err != nil:
				t.Errorf("%s: %+v (%v)", what, r, errs[i])
			case !r.Overtaken:
				succeeded++
			}
		}
		if succeeded == 0 || succeeded > 1 && !s.Seconds {
			t.Errorf("%s: %d of %d repairs are done, want 1", what, succeeded, len(results))
		}
		s.wantStored(what, id, documentKind(next.Tombstone), v, 0)
	})
}

// checkRepairsOfAnotherBirth checks that a store refuses to repair a document of another birth, and leaves the document
// as it is.
func checkRepairsOfAnotherBirth(t *testing.T, s repairCheck) {
	for _, kind := range []documentKind{live, deleted} {
		id := fmt.Sprint("birth-", kind)
		ofSecondBirth := document(s.Index, id, 5, "second", kind)
		ofSecondBirth.Time = time.Unix(1767323050, 0)
		s.apply(id, ofSecondBirth)
		for _, repairKind := range []documentKind{live, deleted} {
			r, err := s.repairOne(s.read(id), s.wantedMutation(id, repairKind))
			err = cmp.Or(err, r.Err)
			if _, ok := errors.AsType[*state.LostError](err); !ok || !pipeline.IsFatal(err) {
				t.Errorf("%s, then tombstone %v: got %+v (%v), want a fatal LostError", id, repairKind, r, err)
			}
		}
		if stored := s.read(id); stored.Tombstone != (kind == deleted) || stored.Version != ofSecondBirth.Version {
			t.Errorf("%s: stored is %s", id, stored.Doc)
		}
	}
}

// checkRepairsOfForeignDocuments checks that a document is repaired after a person changed or deleted it. Newer changes
// of the stream must win over the repair.
func checkRepairsOfForeignDocuments(t *testing.T, s repairCheck) {
	s.apply("another document", s.document("another", 1, live))
	for name, damage := range map[string]func(id string){
		"edited": func(id string) {
			s.Set(t, id, fmt.Sprintf(`{"_tw":{"version":%q,"by":"test","birth":"first"},"n":99}`, s.version(5)))
		},
		"replaced": func(id string) { s.Set(t, id, `{"n":99}`) },
		"deleted":  func(id string) { s.Remove(t, id) },
	} {
		for _, kind := range []documentKind{live, deleted} {
			id := fmt.Sprint(name, kind)
			s.apply(id, s.document(id, 5, live))
			damage(id)
			expected := s.read(id)
			s.expectRepair(id, expected, s.wantedMutation(id, kind), repaired)
			v := expected.Version.NextRepair()
			if v.IsZero() {
				v = s.version(0)
			}
			s.wantStored(id, id, kind, v, 0)
			s.apply(id+", then a newer change", s.document(id, 7, live))
			s.wantStored(id+", then a newer change", id, live, s.version(7), 7)
		}
	}
}

// RunRepairOwners checks that a store refuses to repair documents of an index that belongs to another sink.
func RunRepairOwners(ctx context.Context, t *testing.T, theirs search.Owner, index string, other search.Repairer) {
	t.Helper()
	results, err := other.RepairDocuments(ctx, []search.DocumentRepair{{Next: document(index, "a", 1, "", live)}})
	if err == nil {
		err = results[0].Err
	}
	if foreign, ok := errors.AsType[*search.ForeignIndexError](err); !ok || foreign.Owner != theirs {
		t.Errorf("got %v, want a ForeignIndexError of %+v", err, theirs)
	}
}
