package viewtest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// RepairSuite describes a kind of store whose rows are damaged and repaired.
type RepairSuite struct {
	// Open opens a store, as in [Suite]. The store is a [view.Repairer], a [view.GroupRepairer] and a
	// [view.Inspector], too. Required.
	Open Open

	// Hand changes rows as a person does, without the store. Required.
	Hand Hand

	// Between makes the next repair of s run do between its last read and its first write. Default: a repair reads
	// and writes in one transaction, so that there is no between.
	Between func(s StateStore, do func())
}

// Hand changes the rows of tables without the knowledge of a store.
type Hand interface {
	// Take removes a row or a tombstone in place, and returns a function that puts it back as it was.
	Take(t *testing.T, s StateStore, table view.Table, row state.Row) (putBack func())

	// Set sets an attribute of a row to a text.
	Set(t *testing.T, s StateStore, table view.Table, row state.Row, name, text string)

	// Bury makes a row a tombstone of its version, in its own place.
	Bury(t *testing.T, s StateStore, table view.Table, row state.Row)
}

// RunRepairs checks the repairs of a store: of rows that guard themselves, of claims, of contributions and of groups.
func RunRepairs(t *testing.T, suite RepairSuite) {
	target := target
	target.Birth = "first"
	for name, check := range map[string]func(*testing.T, *repairCheck){
		"Claims":            repairsOfClaims,
		"ClaimsRace":        claimRepairsRace,
		"ClaimsAfterwards":  claimsAfterRepairs,
		"Contributions":     repairsOfContributions,
		"ContributionsRace": contributionRepairsRace,
		"Groups":            repairsOfGroups,
		"LargeGroups":       repairsOfLargeGroups,
		"GroupsRace":        groupRepairsRace,
		"GroupsOfOthers":    repairsOfOthersGroups,
	} {
		t.Run(name, func(t *testing.T) { suite.run(t, target, check) })
	}
	for kind, inPlace := range tombstoneKinds {
		target := target
		target.InPlace = inPlace
		checks := map[string]func(*testing.T, *repairCheck){
			"Rows":         repairsOfRows,
			"RowsRace":     rowRepairsRace,
			"RowsOnce":     rowRepairsCountOnce,
			"RowsOfOthers": repairsOfOthersRows,
			"WideRows":     repairsOfWideRows,
		}
		if !inPlace {
			checks["RowBesideTombstone"] = repairsBesideTombstones
			checks["TombstoneAtTheKey"] = repairsOfTombstonesAtTheKey
		}
		for name, check := range checks {
			t.Run(name+"/"+kind, func(t *testing.T) { suite.run(t, target, check) })
		}
	}
}

// run runs a check on a store of its own.
func (suite RepairSuite) run(t *testing.T, target view.Target, check func(*testing.T, *repairCheck)) {
	open := opener(t, suite.Open)
	check(t, &repairCheck{storeCheck: &storeCheck{open(), t, target, open}, RepairSuite: suite})
}

// repairCheck is a store with helpers to damage and to repair it.
type repairCheck struct {
	*storeCheck
	RepairSuite
}

// reopen opens the store once more, as another process does.
func (s *repairCheck) reopen() *repairCheck {
	return &repairCheck{s.storeCheck.reopen(), s.RepairSuite}
}

// layerZero is the version of what a backfill reads, which is below all changes.
func layerZero(t *testing.T) record.Version { return version(t, 0) }

// bare is a row without attributes.
func bare(m view.Mutation) view.Mutation {
	m.Attributes = nil
	return m
}

func asVoid(m view.Mutation) view.Mutation {
	m.Void = true
	return m
}

// read returns what is stored at the key of a mutation.
func (s *repairCheck) read(m view.Mutation) view.StoredRow {
	s.t.Helper()
	return s.readRow(rowOf(s.t, m))
}

// readRow returns what is stored at a row.
func (s *repairCheck) readRow(r state.Row) view.StoredRow {
	s.t.Helper()
	stored, err := s.StoredRows(s.t.Context(), s.target, []state.Row{r})
	must(s.t, err)
	return stored[0]
}

// repair makes one repair, and returns its result.
func (s *repairCheck) repair(was view.StoredRow, now view.Mutation) view.Result {
	s.t.Helper()
	return s.one(s.RepairRows(s.t.Context(), s.target, []view.RowRepair{{Was: was, Now: now}}))
}

// wantStored expects what is stored at the key of m: m itself at a version; nothing if m is the zero Mutation.
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

// wasKinds are what a repair may find. A repair of an extra or a wrong row finds a row, one of a missing row finds
// nothing or a tombstone.
var wasKinds = map[string]func(t *testing.T, sk string) *view.Mutation{
	"nothing":   func(*testing.T, string) *view.Mutation { return nil },
	"row":       func(t *testing.T, sk string) *view.Mutation { m := row(t, "a", sk, 5, "wrong"); return &m },
	"bare row":  func(t *testing.T, sk string) *view.Mutation { m := bare(row(t, "a", sk, 5, "")); return &m },
	"tombstone": func(t *testing.T, sk string) *view.Mutation { m := tombstone(t, "a", sk, 5); return &m },
	"void":      func(t *testing.T, sk string) *view.Mutation { m := asVoid(tombstone(t, "a", sk, 5)); return &m },
}

// nowKinds are what a repair may store.
var nowKinds = map[string]func(t *testing.T, sk string) view.Mutation{
	"row":       func(t *testing.T, sk string) view.Mutation { return row(t, "a", sk, 0, "right") },
	"bare row":  func(t *testing.T, sk string) view.Mutation { return bare(row(t, "a", sk, 0, "")) },
	"tombstone": func(t *testing.T, sk string) view.Mutation { return tombstone(t, "a", sk, 0) },
}

// eachRepair calls check with every pair of what a repair finds and stores, each at a key of its own that begins with
// name. The former is stored already; was is how it was read. v is the version of the repaired row.
func (s *repairCheck) eachRepair(name string, check func(what string, was view.StoredRow, now view.Mutation, v record.Version)) {
	s.t.Helper()
	apply(s.t, s, s.target, row(s.t, "b", "1", 1, "another row")) // so that the table exists
	for wasName, wasOf := range wasKinds {
		for nowName, nowOf := range nowKinds {
			sk := name + ", " + wasName + ", " + nowName
			now, v := nowOf(s.t, sk), layerZero(s.t)
			if m := wasOf(s.t, sk); m != nil {
				v = version(s.t, 5)
				apply(s.t, s, s.target, *m)
			}
			check(wasName+" becomes a "+nowName, s.read(now), now, v)
		}
	}
}

// A repair stores what it says, at the version that was stored. Then it is lost, later changes of the stream win, and
// older ones lose.
func repairsOfRows(t *testing.T, s *repairCheck) {
	s.eachRepair("", func(what string, was view.StoredRow, now view.Mutation, v record.Version) {
		wantDone(t, what, s.repair(was, now))
		s.wantStored(what, now, now, v)
		if again, stored := s.repair(was, now), s.read(now); !again.Lost && !stored.Matches(&was) {
			t.Errorf("%s again: %+v, want it lost", what, again)
		}
		sk, _ := now.SK.Text()
		if was.Exists {
			same(t, what+", then a late change", apply(t, s, s.target, row(t, "a", sk, 4, "late")), []bool{true})
			same(t, what+", then the change again", apply(t, s, s.target, row(t, "a", sk, 5, "again")), []bool{false})
			s.wantStored(what+", then late changes", now, now, v)
		}
		newer := row(t, "a", sk, 6, "newer")
		same(t, what+", then a newer change", apply(t, s, s.target, newer), []bool{false})
		s.wantStored(what+", then a newer change", now, newer, version(t, 6))
		gone := tombstone(t, "a", sk, 7)
		same(t, what+", then a newer removal", apply(t, s, s.target, gone), []bool{false})
		s.wantStored(what+", then a newer removal", now, gone, version(t, 7))
	})
}

// A repair is lost if the stream, another repair or a person changed the row since it was read, also while it is being
// written. Nothing else changes then.
func rowRepairsRace(t *testing.T, s *repairCheck) {
	other := s.reopen()
	for moment, at := range s.moments() {
		for name, event := range map[string]func(was view.StoredRow, sk string) (done bool){
			"a newer row": func(_ view.StoredRow, sk string) bool {
				apply(t, other, s.target, row(t, "a", sk, 6, "newer"))
				return true
			},
			"a newer removal": func(_ view.StoredRow, sk string) bool {
				apply(t, other, s.target, tombstone(t, "a", sk, 6))
				return true
			},
			"a repair to another row": func(was view.StoredRow, sk string) bool {
				return other.repair(was, row(t, "a", sk, 0, "of another repair")) == view.Result{}
			},
			"a repair to a tombstone": func(was view.StoredRow, sk string) bool {
				other.repair(was, tombstone(t, "a", sk, 0))
				return !was.Tombstone // otherwise it is as before
			},
			"a person": func(was view.StoredRow, sk string) bool {
				if !was.Exists || was.Tombstone {
					return false
				}
				s.Hand.Set(t, other.StateStore, s.target.Table, groupRow(t, "a", sk), "text", "by hand")
				return was.Item.Len() > 2 // a store need not see that an attribute was added
			},
		} {
			t.Run(name+"/"+moment, func(t *testing.T) {
				s := &repairCheck{&storeCheck{s.StateStore, t, s.target, s.open}, s.RepairSuite}
				s.eachRepair(name+moment, func(what string, was view.StoredRow, now view.Mutation, _ record.Version) {
					sk, _ := now.SK.Text()
					changed, fired := false, false
					at(func() { changed, fired = event(was, sk), true })
					before := s.read(now)
					r := s.repair(was, now)
					if !fired {
						t.Fatalf("%s: nothing happened between", what)
					}
					if moment == "between" {
						before = s.read(now)
					}
					if !changed {
						return
					}
					wantLost(t, what, r)
					if after := s.read(now); !after.Matches(&before) || rowText(after) == mutationText(now, after.Version) && now.Attributes != nil {
						t.Errorf("%s: stored is %s", what, rowText(after))
					}
				})
			})
		}
	}
}

// Of the repairs of one finding that run at the same time, one is done and the others are lost.
func rowRepairsCountOnce(t *testing.T, s *repairCheck) {
	processes := []*repairCheck{s, s.reopen(), s.reopen()}
	s.eachRepair("", func(what string, was view.StoredRow, now view.Mutation, v record.Version) {
		if was.Tombstone && now.Tombstone || rowText(was) == mutationText(now, v) {
			return // it is as before
		}
		wantOneDone(t, what, func(i int) view.Result { return processes[i%len(processes)].repair(was, now) })
		s.wantStored(what, now, now, v)
	})
}

// wantOneDone makes the same repair six times at once, and expects that one is done and the others are lost.
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

// otherTargets change a target to one that may not write its rows.
var otherTargets = map[string]func(*view.Target){
	"another sink":     func(t *view.Target) { t.View = "two" },
	"another pipeline": func(t *view.Target) { t.Pipeline = "others" },
	"another birth":    func(t *view.Target) { t.Birth = "second" },
}

// A row that another sink or another birth took, or a person, is refused with the name of its owner, and stays.
func repairsOfOthersRows(t *testing.T, s *repairCheck) {
	for who, change := range otherTargets {
		target := s.target
		change(&target)
		s.eachRepair(who, func(what string, was view.StoredRow, now view.Mutation, _ record.Version) {
			sk, _ := now.SK.Text()
			if was.Exists && (!was.Tombstone || s.target.InPlace) {
				s.Hand.Take(t, s.StateStore, s.target.Table, groupRow(t, "a", sk))
			}
			theirs := row(t, "a", sk, 5, "theirs")
			apply(t, s, target, theirs)
			rs, err := s.RepairRows(t.Context(), s.target, []view.RowRepair{{Was: was, Now: now}})
			if who == "another birth" {
				wantOtherBirth(t, what+" of "+who, err)
			} else {
				must(t, err)
				wantForeign(t, what+" of "+who, rs[0].Err, target, groupRow(t, "a", sk))
			}
			(&repairCheck{s.withTarget(target), s.RepairSuite}).wantStored(what+" of "+who, now, theirs, version(t, 5))
		})
	}
}

// A row with more attributes than a condition of DynamoDB may have is repaired, too.
func repairsOfWideRows(t *testing.T, s *repairCheck) {
	wide := row(t, "a", "1", 5, "wrong")
	for i := range 150 {
		c := wide.Attributes[0]
		c.Name = fmt.Sprintf("a%03d", i)
		wide.Attributes = append(wide.Attributes, c)
	}
	apply(t, s, s.target, wide)
	was := s.read(wide)
	s.Hand.Set(t, s.StateStore, s.target.Table, groupRow(t, "a", "1"), "a001", "by hand")
	now := row(t, "a", "1", 0, "right")
	wantLost(t, "of a row that was changed", s.repair(was, now))
	wantDone(t, "", s.repair(s.read(wide), now))
	s.wantStored("the row", now, now, version(t, 5))
}
