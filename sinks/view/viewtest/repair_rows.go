package viewtest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// RepairSuite describes a kind of store for checks of repairs.
type RepairSuite struct {
	// Open opens a store, as in [Suite]. Required.
	Open Open

	// Editor changes rows by hand, without the store. Required.
	Editor RowEditor

	// BeforeRepairWrite makes the next repair of s call do: after the last read of the repair, and before its first
	// write. Default: nil, for a store whose repair reads and writes in one transaction.
	BeforeRepairWrite func(s StateStore, do func())
}

// RowEditor changes the rows of tables without the store, as a person would.
type RowEditor interface {
	// Remove removes a row or a tombstone in place. It returns a function that puts the row or tombstone back
	// unchanged.
	Remove(t *testing.T, s StateStore, table view.Table, row state.Row) (putBack func())

	// Set sets an attribute of a row to a text.
	Set(t *testing.T, s StateStore, table view.Table, row state.Row, name, text string)

	// ReplaceByTombstone replaces a row by a tombstone of the same version, at the row's key.
	ReplaceByTombstone(t *testing.T, s StateStore, table view.Table, row state.Row)
}

// RunRepairs checks the repairs of a store: repairs of rows that guard themselves, claims, contributions and groups.
func RunRepairs(t *testing.T, suite RepairSuite) {
	target := target
	target.Birth = "first"
	for name, check := range map[string]func(*testing.T, *repairCheck){
		"Claims":            checkRepairsOfClaims,
		"ClaimsRace":        checkClaimRepairsRace,
		"ClaimsAfterwards":  checkClaimsAfterRepairs,
		"Contributions":     checkRepairsOfContributions,
		"ContributionsRace": checkContributionRepairsRace,
		"Groups":            checkRepairsOfGroups,
		"LargeGroups":       checkRepairsOfLargeGroups,
		"GroupsRace":        checkGroupRepairsRace,
		"GroupsOfOthers":    checkRepairsOfOthersGroups,
	} {
		t.Run(name, func(t *testing.T) { suite.run(t, target, check) })
	}
	for kind, inPlace := range tombstoneKinds {
		target := target
		target.InPlace = inPlace
		checks := map[string]func(*testing.T, *repairCheck){
			"Rows":         checkRepairsOfRows,
			"RowsRace":     checkRowRepairsRace,
			"RowsOnce":     checkRowRepairsCountOnce,
			"RowsOfOthers": checkRepairsOfOthersRows,
			"WideRows":     checkRepairsOfWideRows,
		}
		if !inPlace {
			checks["RowBesideTombstone"] = checkRepairsBesideTombstones
			checks["TombstoneAtTheKey"] = checkRepairsOfTombstonesAtTheKey
		}
		for name, check := range checks {
			t.Run(name+"/"+kind, func(t *testing.T) { suite.run(t, target, check) })
		}
	}
}

// run runs a check on a new store.
func (suite RepairSuite) run(t *testing.T, target view.Target, check func(*testing.T, *repairCheck)) {
	open := opener(t, suite.Open)
	check(t, &repairCheck{storeCheck: &storeCheck{open(), t, target, open}, RepairSuite: suite})
}

// repairCheck is a store with helpers to damage and to repair it.
type repairCheck struct {
	*storeCheck
	RepairSuite
}

// reopen opens the store a second time, as another process does.
func (s *repairCheck) reopen() *repairCheck {
	return &repairCheck{s.storeCheck.reopen(), s.RepairSuite}
}

// backfillVersion returns the version of an item that a backfill read. It is lower than the version of every change.
func backfillVersion(t *testing.T) record.Version { return version(t, 0) }

// withoutAttributes returns m without its attributes.
func withoutAttributes(m view.Mutation) view.Mutation {
	m.Attributes = nil
	return m
}

func asVoid(m view.Mutation) view.Mutation {
	m.Void = true
	return m
}

// read returns the stored row at the key of a mutation.
func (s *repairCheck) read(m view.Mutation) view.StoredRow {
	s.t.Helper()
	return s.readRow(rowOf(s.t, m))
}

// readRow returns the stored row.
func (s *repairCheck) readRow(r state.Row) view.StoredRow {
	s.t.Helper()
	stored, err := s.StoredRows(s.t.Context(), s.target, []state.Row{r})
	must(s.t, err)
	return stored[0]
}

// repair makes one repair and returns its result. If something is expected, next gets the version of a repair of it.
func (s *repairCheck) repair(expected view.StoredRow, next view.Mutation) view.Result {
	s.t.Helper()
	if expected.Exists {
		next.Version = expected.Version.NextRepair()
	}
	return s.onlyResult(s.RepairRows(s.t.Context(), s.target, []view.RowRepair{{Expected: expected, Next: next}}))
}

// wantStored checks the stored row at the key of at. The row must be that of m, with the version v. If m is zero,
// nothing must be stored.
func (s *repairCheck) wantStored(what string, at, m view.Mutation, v record.Version) {
	s.t.Helper()
	if got, want := rowText(s.read(at)), mutationText(m, v); got != want {
		s.t.Errorf("%s: stored is %s, want %s", what, got, want)
	}
}

func rowText(r view.StoredRow) string {
	text := ""
	if v, ok := r.Item.Get("text"); ok {
		text = fmt.Sprint(v)
	}
	return storedText(r.Exists, r.Tombstone, r.Version, text)
}

func mutationText(m view.Mutation, v record.Version) string {
	text := ""
	for _, c := range m.Attributes {
		if c.Name == "text" {
			text = fmt.Sprint(c.Value)
		}
	}
	return storedText(m.PK.Exists(), m.Tombstone, v, text)
}

func storedText(exists, tombstone bool, v record.Version, text string) string {
	switch {
	case !exists:
		return "nothing"
	case tombstone:
		return "a tombstone of version " + v.String()[40:]
	default:
		return "a row of version " + v.String()[40:] + " with text " + text
	}
}

// liveRowText returns the rowText of a row that is no tombstone.
func liveRowText(v record.Version, text string) string { return storedText(true, false, v, text) }

// storedKinds returns the kinds of rows that a repair may find, without sort keys. A repair of an extra or a wrong row
// finds a row. A repair of a missing row finds nothing or a tombstone.
func storedKinds(t *testing.T) map[string]view.Mutation {
	return map[string]view.Mutation{
		"nothing":   {},
		"row":       putRow(t, "a", "", 5, "wrong"),
		"bare row":  withoutAttributes(putRow(t, "a", "", 5, "")),
		"tombstone": tombstone(t, "a", "", 5),
		"void":      asVoid(tombstone(t, "a", "", 5)),
	}
}

// repairedKinds returns the kinds of rows that a repair may store, without sort keys.
func repairedKinds(t *testing.T) map[string]view.Mutation {
	return map[string]view.Mutation{
		"row":       putRow(t, "a", "", 0, "right"),
		"bare row":  withoutAttributes(putRow(t, "a", "", 0, "")),
		"tombstone": tombstone(t, "a", "", 0),
	}
}

// eachRepair calls check for every pair of a stored kind and a repaired kind. Each pair has a sort key of its own,
// which begins with name. Before the call, eachRepair stores the row of the stored kind. expected is this row as it
// was read, next is the row of the repaired kind, and v is the version that the repaired row must have.
func (s *repairCheck) eachRepair(
	name string, check func(what string, expected view.StoredRow, next view.Mutation, v record.Version),
) {
	s.t.Helper()
	apply(s.t, s, s.target, putRow(s.t, "b", "1", 1, "another row")) // creates the table
	for expectedName, expected := range storedKinds(s.t) {
		for nextName, next := range repairedKinds(s.t) {
			sk := item.StringValue(name + ", " + expectedName + ", " + nextName)
			expected.SK, next.SK = sk, sk
			v := backfillVersion(s.t)
			if expectedName != "nothing" {
				v = version(s.t, 5).NextRepair()
				apply(s.t, s, s.target, expected)
			}
			check(expectedName+" becomes a "+nextName, s.read(next), next, v)
		}
	}
}

// The version of a repair comes after the version that was stored before. After the repair, the same repair is lost,
// newer changes of the stream win, and older changes and the change before the repair lose.
func checkRepairsOfRows(t *testing.T, s *repairCheck) {
	s.eachRepair("", func(what string, expected view.StoredRow, next view.Mutation, v record.Version) {
		wantDone(t, what, s.repair(expected, next))
		s.wantStored(what, next, next, v)
		if again, stored := s.repair(expected, next), s.read(next); !again.Lost && !stored.Matches(&expected) {
			t.Errorf("%s again: %+v, want it lost", what, again)
		}
		sk, _ := next.SK.Text()
		if expected.Exists {
			wantSuperseded(t, what+", then a late change", s, s.target, putRow(t, "a", sk, 4, "late"))
			wantSuperseded(t, what+", then the change again", s, s.target, putRow(t, "a", sk, 5, "again"))
			s.wantStored(what+", then late changes", next, next, v)
		}
		newer := putRow(t, "a", sk, 6, "newer")
		wantApplied(t, what+", then a newer change", s, s.target, newer)
		s.wantStored(what+", then a newer change", next, newer, version(t, 6))
		gone := tombstone(t, "a", sk, 7)
		wantApplied(t, what+", then a newer removal", s, s.target, gone)
		s.wantStored(what+", then a newer removal", next, gone, version(t, 7))
	})
}

// A repair is lost if the stream, another repair or a person changed the row since it was read, even while the repair
// runs. Then the repair changes nothing.
func checkRowRepairsRace(t *testing.T, s *repairCheck) {
	events := s.rowEvents()
	for moment, at := range s.eventTimings() {
		for name, event := range events {
			t.Run(name+"/"+moment, func(t *testing.T) {
				s := &repairCheck{&storeCheck{s.StateStore, t, s.target, s.open}, s.RepairSuite}
				s.checkRowRace(name+moment, at, event)
			})
		}
	}
}

// checkRowRace checks that each repair is lost if event happens at a moment, and that it changes nothing.
func (s *repairCheck) checkRowRace(name string, at func(event func()), event rowEvent) {
	s.eachRepair(name, func(what string, expected view.StoredRow, next view.Mutation, _ record.Version) {
		sk, _ := next.SK.Text()
		hasRun, changed := false, false
		var afterEvent view.StoredRow
		at(func() {
			hasRun, changed = true, event(expected, sk)
			afterEvent = s.read(next)
		})
		r := s.repair(expected, next) // the event has happened when it returns
		switch {
		case !hasRun:
			s.t.Fatalf("%s: nothing happened between", what)
		case !changed:
			return
		}
		wantLost(s.t, what, r)
		stored := s.read(next)
		isRepaired := next.Attributes != nil && rowText(stored) == mutationText(next, stored.Version)
		if !stored.Matches(&afterEvent) || isRepaired {
			s.t.Errorf("%s: stored is %s", what, rowText(stored))
		}
	})
}

// rowEvent changes the row with a sort key, which a repair has read as expected. It returns false if it changed
// nothing.
type rowEvent func(expected view.StoredRow, sk string) (changed bool)

// rowEvents returns the events that make a repair of a row lost, by name.
func (s *repairCheck) rowEvents() map[string]rowEvent {
	t, other := s.t, s.reopen()
	return map[string]rowEvent{
		"a newer row": func(_ view.StoredRow, sk string) bool {
			apply(t, other, s.target, putRow(t, "a", sk, 6, "newer"))
			return true
		},
		"a newer removal": func(_ view.StoredRow, sk string) bool {
			apply(t, other, s.target, tombstone(t, "a", sk, 6))
			return true
		},
		"a repair to another row": func(expected view.StoredRow, sk string) bool {
			return other.repair(expected, putRow(t, "a", sk, 0, "of another repair")) == view.Result{}
		},
		"a repair to a tombstone": func(expected view.StoredRow, sk string) bool {
			return other.repair(expected, tombstone(t, "a", sk, 0)) == view.Result{}
		},
		"a person": func(expected view.StoredRow, sk string) bool {
			if !expected.Exists || expected.Tombstone {
				return false
			}
			s.Editor.Set(t, other.StateStore, s.target.Table, makeRow(t, "a", sk), "text", "by hand")
			return expected.Item.Len() > 2 // a store may ignore an added attribute
		},
	}
}

// If several repairs of one wrong row run at the same time, one succeeds and the other repairs are lost.
func checkRowRepairsCountOnce(t *testing.T, s *repairCheck) {
	processes := []*repairCheck{s, s.reopen(), s.reopen()}
	s.eachRepair("", func(what string, expected view.StoredRow, next view.Mutation, v record.Version) {
		wantOneDone(t, what, func(i int) view.Result { return processes[i%len(processes)].repair(expected, next) })
		s.wantStored(what, next, next, v)
	})
}

// wantOneDone makes the same repair six times at once. One repair must succeed, and the other repairs must be lost.
func wantOneDone(t *testing.T, what string, repair func(i int) view.Result) {
	t.Helper()
	rs := make([]view.Result, 6)
	var repairs sync.WaitGroup
	for i := range rs {
		repairs.Go(func() { rs[i] = repair(i) })
	}
	repairs.Wait()
	done := 0
	for _, r := range rs {
		switch {
		case r == view.Result{}:
			done++
		case !r.Lost || r.Err != nil:
			t.Errorf("%s: %+v, want it lost", what, r)
		}
	}
	if done != 1 {
		t.Errorf("%s: %d of %d repairs are done, want 1", what, done, len(rs))
	}
}

// otherTargets has functions that change a target. With the changed target, the rows of the original target cannot be
// written.
var otherTargets = map[string]func(*view.Target){
	"another sink":     func(t *view.Target) { t.View = "two" },
	"another pipeline": func(t *view.Target) { t.Pipeline = "others" },
	"another birth":    func(t *view.Target) { t.Birth = "second" },
}

// A row may belong to another sink, or to another birth of the sink's output. Then the repair fails with the name of
// the owner, and the row stays.
func checkRepairsOfOthersRows(t *testing.T, s *repairCheck) {
	for who, change := range otherTargets {
		target := s.target
		change(&target)
		other := &repairCheck{s.withTarget(target), s.RepairSuite}
		s.eachRepair(who, func(what string, expected view.StoredRow, next view.Mutation, _ record.Version) {
			what += " of " + who
			sk, _ := next.SK.Text()
			row := makeRow(t, "a", sk)
			isApart := expected.Tombstone && !s.target.InPlace
			if expected.Exists && !isApart {
				s.Editor.Remove(t, s.StateStore, s.target.Table, row)
			}
			theirs := putRow(t, "a", sk, 5, "theirs")
			apply(t, s, target, theirs)
			rs, err := s.RepairRows(t.Context(), s.target, []view.RowRepair{{Expected: expected, Next: next}})
			if hasOtherBirth := target.Birth != s.target.Birth; hasOtherBirth {
				wantOtherBirth(t, what, err)
			} else {
				must(t, err)
				wantForeign(t, what, rs[0].Err, target, row)
			}
			other.wantStored(what, next, theirs, version(t, 5))
		})
	}
}

// A row is repaired even if it has more attributes than a condition of DynamoDB allows.
func checkRepairsOfWideRows(t *testing.T, s *repairCheck) {
	wide := putRow(t, "a", "1", 5, "wrong")
	for i := range 150 {
		c := wide.Attributes[0]
		c.Name = fmt.Sprintf("a%03d", i)
		wide.Attributes = append(wide.Attributes, c)
	}
	apply(t, s, s.target, wide)
	expected := s.read(wide)
	s.Editor.Set(t, s.StateStore, s.target.Table, makeRow(t, "a", "1"), "a001", "by hand")
	next := putRow(t, "a", "1", 0, "right")
	wantLost(t, "of a row that was changed", s.repair(expected, next))
	wantDone(t, "of a row that is unchanged", s.repair(s.read(wide), next))
	s.wantStored("the row", next, next, version(t, 5).NextRepair())
}
