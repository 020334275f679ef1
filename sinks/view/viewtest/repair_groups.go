package viewtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// testGroupValues are the values of the group (g, 1). The checks of repairs use this group. The values are not in the
// order of their names, because an aggregate may have them in any order.
var testGroupValues = []view.Value{{Name: "revenue", Kind: "sum"}, {Name: "lo", Kind: "min"}, {Name: "hi", Kind: "max"},
	{Name: "different", Kind: "distinct"}}

// testGroup returns the row of the group (g, 1).
func (s *repairCheck) testGroup() state.Row { return makeRow(s.t, "g", "1") }

// readGroup reads the group (g, 1) with its members.
func (s *repairCheck) readGroup() view.Group {
	s.t.Helper()
	groups, err := s.ReadGroups(s.t.Context(), s.target, testGroupValues, []state.Row{s.testGroup()})
	must(s.t, err)
	return groups[0]
}

// expectedGroup returns the group (g, 1) as it should be. The group has one share for each amount. The key of a share's
// item is the amount.
func (s *repairCheck) expectedGroup(amounts ...string) view.Group {
	s.t.Helper()
	g := view.Group{Row: s.testGroup(), Shares: int64(len(amounts)), Version: version(s.t, 5)}
	total := number(s.t, "0")
	for _, a := range amounts {
		total = total.Add(number(s.t, a))
		g.Members = append(g.Members, replaceAmount(s.t, item.Key(a), "", a).Members...)
	}
	g.Sums = []state.Increment{{Name: "revenue", Amount: total}}
	valueIndex := func(m state.Member) int {
		return slices.IndexFunc(testGroupValues, func(v view.Value) bool { return v.Name == m.Name })
	}
	slices.SortStableFunc(g.Members, func(a, b state.Member) int { return valueIndex(a) - valueIndex(b) })
	return g
}

// repairGroup makes one repair and returns its result.
func (s *repairCheck) repairGroup(expected, next view.Group) view.Result {
	s.t.Helper()
	return s.onlyResult(s.RepairGroups(s.t.Context(), s.target, []view.GroupRepair{{Expected: expected, Next: next}}))
}

// addShares adds a share for each amount to the group (g, 1). The key of the share's item is the amount. addShares
// writes no contribution.
func (s *repairCheck) addShares(what string, amounts ...string) {
	s.t.Helper()
	for _, a := range amounts {
		s.writeGroups(what, replaceAmount(s.t, item.Key(a), "", a))
	}
}

// removeShares removes the shares that addShares added for amounts.
func (s *repairCheck) removeShares(what string, amounts ...string) {
	s.t.Helper()
	for _, a := range amounts {
		s.writeGroups(what, replaceAmount(s.t, item.Key(a), a, ""))
	}
}

// wantGroup checks that the group (g, 1) has one share for each amount. amounts must be sorted, the least first.
func (s *repairCheck) wantGroup(what string, amounts ...string) {
	s.t.Helper()
	rows := readRows(s.t, s.StateStore, s.target.Table, view.Query{})
	if len(amounts) == 0 {
		checkEqual(s.t, what+": rows", rows, nil)
		return
	}
	want, stored := s.expectedGroup(amounts...), s.readGroup()
	checkEqual(s.t, what+": members", memberTexts(stored.Members), memberTexts(want.Members))
	if stored.Shares != want.Shares || stored.Revision == "" {
		s.t.Errorf("%s: the group has %d shares and the revision %q, want %d shares", what, stored.Shares, stored.Revision,
			want.Shares)
	}
	checkEqual(s.t, what+": rows", rows, []string{groupJSON(s.t, amounts...)})
}

func memberTexts(ms []state.Member) (texts []string) {
	for _, m := range ms {
		texts = append(texts, strings.Join([]string{m.Name, m.Value, m.ID}, " "))
	}
	slices.Sort(texts)
	return texts
}

// Groups are repaired, whatever is wrong with them. After the repair, changes count as usual, and the same repair is
// lost.
func checkRepairsOfGroups(t *testing.T, s *repairCheck) {
	for name, damage := range map[string]func(){
		"right":   func() {},
		"missing": func() { s.removeShares("missing", "5", "7") },
		"drifted": func() {
			s.addShares("drifted", "1", "9")
			s.removeShares("drifted", "5")
		},
		"other member": func() {
			c := replaceAmount(t, "of another item", "", "6")
			c.Shares, c.Sums = 0, nil
			s.writeGroups("other member", c)
		},
		"changed": func() { s.Editor.Set(t, s.StateStore, s.target.Table, s.testGroup(), "revenue", "1") },
		"added":   func() { s.Editor.Set(t, s.StateStore, s.target.Table, s.testGroup(), "note", "by hand") },
		"removed": func() { s.Editor.Remove(t, s.StateStore, s.target.Table, s.testGroup()) },
		"buried": func() {
			s.Editor.Remove(t, s.StateStore, s.target.Table, s.testGroup())
			inPlace := s.target
			inPlace.InPlace = true
			apply(t, s, inPlace, tombstone(t, "g", "1", 9))
		},
	} {
		// Items count in the group.
		s.addShares(name, "5", "7")
		damage()
		expected, next := s.readGroup(), s.expectedGroup("5", "7")
		wantDone(t, name, s.repairGroup(expected, next))
		s.wantGroup(name, "5", "7")
		wantLost(t, name+" again", s.repairGroup(expected, next))
		s.addAmount(name, 0, "0")
		s.removeShares(name, "5")
		s.addShares(name, "3")
		s.wantGroup(name+", then newer changes", "3", "7")
		s.removeShares(name, "3", "7")
		s.wantGroup(name + ", then nothing counts")

		// No item counts in the group.
		s.addShares(name, "5", "7")
		damage()
		wantDone(t, name, s.repairGroup(s.readGroup(), view.Group{Row: s.testGroup()}))
		s.wantGroup(name)
		s.addShares(name, "3")
		s.wantGroup(name+", then a newer change", "3")
		s.removeShares(name, "3")
		s.wantGroup(name + ", then nothing counts")
	}
}

// A repaired group may have any number of members, and sums of any length.
func checkRepairsOfLargeGroups(t *testing.T, s *repairCheck) {
	var amounts []string
	for i := range 120 {
		amounts = append(amounts, fmt.Sprint(1000+i))
	}
	s.addShares("wrong", "1")
	wantDone(t, "the repair to many members", s.repairGroup(s.readGroup(), s.expectedGroup(amounts...)))
	s.wantGroup("many members", amounts...)
	s.removeShares("the least goes", amounts[0])
	s.wantGroup("then the least goes", amounts[1:]...)
	next := s.expectedGroup("2")
	long := strings.Repeat("7", 41)
	next.Sums[0].Amount = number(t, long)
	wantDone(t, "the repair to a long sum", s.repairGroup(s.readGroup(), next))
	s.addAmount("on a long sum", 1, "1")
	if got := fmt.Sprint(s.readGroup().Sums[0].Amount); got != long[:40]+"8" {
		t.Errorf("the long sum is %s", got)
	}
}

// A repair of a group is lost if a change or another repair comes first, even if it comes between the read and the
// write of the repair. If several equal repairs run at the same time, only one of them succeeds.
func checkGroupRepairsRace(t *testing.T, s *repairCheck) {
	other := s.reopen()
	noGroup := view.Group{Row: s.testGroup()}
	addShare := func(view.Group) { other.addShares("a change", "8") }
	repairOther := func(expected view.Group) { other.repairGroup(expected, s.expectedGroup("1", "2", "3")) }
	otherRepair := groupEvent{repairOther, []string{"1", "2", "3"}}
	for moment, at := range s.eventTimings() {
		for name, event := range map[string]groupEvent{
			"a change":           {addShare, []string{"5", "7", "8"}},
			"a change in place":  {func(view.Group) { other.addAmount("a change in place", 1, "100") }, nil},
			"another repair":     otherRepair,
			"a repair to no row": {func(expected view.Group) { other.repairGroup(expected, noGroup) }, []string{}},
			"the last goes":      {func(view.Group) { other.removeShares("the last goes", "5", "7") }, []string{}},
		} {
			for _, next := range []view.Group{s.expectedGroup("4"), noGroup} { // the group is wrong, or extra
				s.addShares(name, "5", "7")
				s.checkGroupRace(name+" "+moment, at, event, s.readGroup(), next)
			}
		}
		missing, next := view.Group{}, s.expectedGroup("4")
		s.checkGroupRace("a change "+moment, at, groupEvent{addShare, []string{"8"}}, missing, next)
		s.checkGroupRace("another repair "+moment, at, otherRepair, missing, next)
	}

	s.addShares("in parallel", "5")
	expected, next := s.readGroup(), s.expectedGroup("1", "2")
	processes := []*repairCheck{s, other}
	wantOneDone(t, "in parallel", func(i int) view.Result { return processes[i%2].repairGroup(expected, next) })
	s.wantGroup("in parallel", "1", "2")
}

// groupEvent changes the group (g, 1), which a repair has read as expected.
type groupEvent struct {
	run  func(expected view.Group)
	want []string // amounts in the group after the event; nil: not compared
}

// checkGroupRace checks that a repair of the group (g, 1) is lost and changes nothing if event happens at a moment.
// Then it removes the group.
func (s *repairCheck) checkGroupRace(
	name string, at func(event func()), event groupEvent, expected, next view.Group,
) {
	s.t.Helper()
	what := fmt.Sprintf("%s, of %d shares to %d", name, expected.Shares, next.Shares)
	at(func() { event.run(expected) })
	wantLost(s.t, what, s.repairGroup(expected, next))
	if event.want != nil {
		s.wantGroup(what, event.want...)
	}
	if remaining := s.readGroup(); remaining.Row != "" {
		wantDone(s.t, what, s.repairGroup(remaining, view.Group{Row: s.testGroup()}))
	}
}

// addAmount adds an amount and shares, but no members, to the group (g, 1). A store may add them without reading the
// row.
func (s *repairCheck) addAmount(what string, shares int64, amount string) {
	s.t.Helper()
	s.writeGroups(what, state.GroupChange{
		Row: s.testGroup(), Shares: shares, Version: version(s.t, 6),
		Sums: []state.Increment{{Name: "revenue", Amount: number(s.t, amount)}},
	})
}

// The row of a group may belong to another sink, or to another birth of the sink's output. Then the repair fails with
// the name of the owner, and the row stays.
func checkRepairsOfOthersGroups(t *testing.T, s *repairCheck) {
	for who, change := range otherTargets {
		for _, next := range []view.Group{s.expectedGroup("5"), {Row: s.testGroup()}} {
			s.addShares(who, "1")
			expected := s.readGroup()
			putBack := s.Editor.Remove(t, s.StateStore, s.target.Table, s.testGroup())
			theirs := s.target
			change(&theirs)
			apply(t, s, theirs, theirRow(t, "g", "1"))
			rs, err := s.RepairGroups(t.Context(), s.target, []view.GroupRepair{{Expected: expected, Next: next}})
			if hasOtherBirth := theirs.Birth != s.target.Birth; hasOtherBirth {
				wantOtherBirth(t, who, err)
			} else {
				must(t, err)
				wantForeign(t, who, rs[0].Err, theirs, s.testGroup())
			}
			if got := s.readRow(s.testGroup()); got.Version != version(t, 9) {
				t.Errorf("the row of %s is %+v", who, got)
			}
			putBack()
			s.removeShares(who, "1")
		}
	}
}
