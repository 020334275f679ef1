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

// testGroupValues are the values of the group that oneShare and replaceAmount use.
var testGroupValues = []view.Value{{Name: "revenue", Of: "sum"}, {Name: "lo", Of: "min"}, {Name: "hi", Of: "max"},
	{Name: "different", Of: "distinct"}}

// testGroup returns the row of the group g 1.
func (s *repairCheck) testGroup() state.Row { return groupRow(s.t, "g", "1") }

// readGroup reads the group g 1 with its members.
func (s *repairCheck) readGroup() view.Group {
	s.t.Helper()
	groups, err := s.ReadGroups(s.t.Context(), s.target, testGroupValues, []state.Row{s.testGroup()})
	must(s.t, err)
	return groups[0]
}

// expectedGroup returns the group g 1 as it should be. It has one share for each amount. The key of a share's item is
// the amount.
func (s *repairCheck) expectedGroup(amounts ...string) view.Group {
	s.t.Helper()
	g := view.Group{Row: s.testGroup(), Shares: int64(len(amounts)), Version: version(s.t, 5)}
	total := number(s.t, "0")
	for _, a := range amounts {
		total = total.Add(number(s.t, a))
		g.Members = append(g.Members, replaceAmount(s.t, item.Key(a), "", a).Members...)
	}
	g.Sums = []state.Increment{{Name: "revenue", Amount: total}}
	slices.SortStableFunc(g.Members, func(a, b state.Member) int {
		return slices.IndexFunc(testGroupValues, func(v view.Value) bool { return v.Name == a.Name }) -
			slices.IndexFunc(testGroupValues, func(v view.Value) bool { return v.Name == b.Name })
	})
	return g
}

// repairGroup makes one repair and returns its result.
func (s *repairCheck) repairGroup(was, now view.Group) view.Result {
	s.t.Helper()
	return s.onlyResult(s.RepairGroups(s.t.Context(), s.target, []view.GroupRepair{{Expected: was, Next: now}}))
}

// changeShares adds or removes a share for each amount in the group g 1. The key of the item is the amount.
// changeShares writes no contribution.
func (s *repairCheck) changeShares(what string, add bool, amounts ...string) {
	s.t.Helper()
	for _, a := range amounts {
		was, now := a, ""
		if add {
			was, now = "", a
		}
		s.writeGroups(what, replaceAmount(s.t, item.Key(a), was, now))
	}
}

// wantGroup checks that the group g 1 has one share of each amount. amounts are sorted, the least first.
func (s *repairCheck) wantGroup(what string, amounts ...string) {
	s.t.Helper()
	var want []string
	if len(amounts) > 0 {
		lo, hi := amounts[0], amounts[len(amounts)-1]
		right := s.expectedGroup(amounts...)
		revenue := item.StringValue("").AppendDynamoDBJSON(nil)
		revenue = right.Sums[0].Amount.Value().AppendDynamoDBJSON(revenue[:0])
		want = []string{fmt.Sprintf(
			`{"PK":{"S":"g"},"SK":{"S":"1"},"different":{"N":"%d"},"hi":{"N":"%s"},"lo":{"N":"%s"},"revenue":%s}`, len(amounts),
			hi, lo, revenue)}
		stored := s.readGroup()
		checkEqual(s.t, what+": members", memberTexts(stored.Members), memberTexts(right.Members))
		if stored.Shares != right.Shares || stored.Revision == "" {
			s.t.Errorf("%s: the group has %d shares and the revision %q, want %d shares", what, stored.Shares, stored.Revision,
				right.Shares)
		}
	}
	checkEqual(s.t, what+": rows", readRows(s.t, s.StateStore, s.target.Table, view.Query{}), want)
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
func repairsOfGroups(t *testing.T, s *repairCheck) {
	for name, damage := range map[string]func(){
		"right":   func() {},
		"missing": func() { s.changeShares("missing", false, "5", "7") },
		"drifted": func() { s.changeShares("drifted", true, "1", "9"); s.changeShares("drifted", false, "5") },
		"other member": func() {
			c := replaceAmount(t, "of another item", "", "6")
			c.Shares, c.Sums = 0, nil
			s.writeGroups("other member", c)
		},
		"changed": func() { s.Hand.Set(t, s.StateStore, s.target.Table, s.testGroup(), "revenue", "1") },
		"added":   func() { s.Hand.Set(t, s.StateStore, s.target.Table, s.testGroup(), "note", "by hand") },
		"removed": func() { s.Hand.Remove(t, s.StateStore, s.target.Table, s.testGroup()) },
		"buried": func() {
			s.Hand.Remove(t, s.StateStore, s.target.Table, s.testGroup())
			inPlace := s.target
			inPlace.InPlace = true
			apply(t, s, inPlace, tombstone(t, "g", "1", 9))
		},
	} {
		for _, extra := range []bool{false, true} {
			s.changeShares(name, true, "5", "7")
			damage()
			was, now := s.readGroup(), s.expectedGroup("5", "7")
			if extra { // no item counts in the group
				now = view.Group{Row: s.testGroup()}
			}
			wantDone(t, name, s.repairGroup(was, now))
			if extra {
				s.wantGroup(name)
				s.changeShares(name, true, "3")
				s.wantGroup(name+", then a newer change", "3")
				s.changeShares(name, false, "3")
			} else {
				s.wantGroup(name, "5", "7")
				wantLost(t, name+" again", s.repairGroup(was, now))
				s.writeGroups(name, state.GroupChange{
					Row: s.testGroup(), Shares: 0, Version: version(t, 6),
					Sums: []state.Increment{{Name: "revenue", Amount: number(t, "0")}},
				})
				s.changeShares(name, false, "5")
				s.changeShares(name, true, "3")
				s.wantGroup(name+", then newer changes", "3", "7")
				s.changeShares(name, false, "3", "7")
			}
			s.wantGroup(name + ", then nothing counts")
		}
	}
}

// A repaired group may have any number of members, and sums of any length.
func repairsOfLargeGroups(t *testing.T, s *repairCheck) {
	var amounts []string
	for i := range 120 {
		amounts = append(amounts, fmt.Sprint(1000+i))
	}
	s.changeShares("wrong", true, "1")
	wantDone(t, "the repair to many members", s.repairGroup(s.readGroup(), s.expectedGroup(amounts...)))
	s.wantGroup("many members", amounts...)
	s.changeShares("the least goes", false, amounts[0])
	s.wantGroup("then the least goes", amounts[1:]...)
	now := s.expectedGroup("2")
	long := strings.Repeat("7", 41)
	now.Sums[0].Amount = number(t, long)
	wantDone(t, "the repair to a long sum", s.repairGroup(s.readGroup(), now))
	s.writeGroups("on a long sum", state.GroupChange{
		Row: s.testGroup(), Shares: 1, Version: version(t, 6),
		Sums: []state.Increment{{Name: "revenue", Amount: number(t, "1")}},
	})
	if got := fmt.Sprint(s.readGroup().Sums[0].Amount); got != long[:40]+"8" {
		t.Errorf("the long sum is %s", got)
	}
}

// A repair of a group is lost if a change or another repair comes first, even between its read and its write. If
// several equal repairs run at the same time, one of them succeeds.
func groupRepairsRace(t *testing.T, s *repairCheck) {
	other := s.reopen()
	for moment, at := range s.eventTimings() {
		for name, c := range map[string]struct {
			event func(was view.Group)
			want  []string // members after the event; nil: not compared
		}{
			"a change":          {func(view.Group) { other.changeShares("a change", true, "8") }, []string{"5", "7", "8"}},
			"a change in place": {func(view.Group) { other.addShareWithoutMembers() }, nil},
			"another repair": {func(was view.Group) { other.repairGroup(was, s.expectedGroup("1", "2", "3")) },
				[]string{"1", "2", "3"}},
			"a repair to no row": {func(was view.Group) { other.repairGroup(was, view.Group{Row: s.testGroup()}) }, []string{}},
			"the last goes":      {func(view.Group) { other.changeShares("the last goes", false, "5", "7") }, []string{}},
		} {
			for _, kind := range []string{"wrong", "extra", "missing"} {
				createsGroup := name == "a change" || name == "another repair"
				if kind == "missing" && !createsGroup {
					continue
				}
				what := fmt.Sprintf("%s %s, %s", name, moment, kind)
				want := c.want
				was, now := view.Group{}, s.expectedGroup("4")
				if kind != "missing" {
					s.changeShares(what, true, "5", "7")
					was = s.readGroup()
				} else if name == "a change" {
					want = []string{"8"}
				}
				if kind == "extra" {
					now = view.Group{Row: s.testGroup()}
				}
				at(func() { c.event(was) })
				wantLost(t, what, s.repairGroup(was, now))
				if want != nil {
					s.wantGroup(what, want...)
				}
				if remaining := s.readGroup(); remaining.Row != "" {
					wantDone(t, what, s.repairGroup(remaining, view.Group{Row: s.testGroup()}))
				}
			}
		}
	}
	s.changeShares("in parallel", true, "5")
	was, now := s.readGroup(), s.expectedGroup("1", "2")
	wantOneDone(t, "in parallel", func(i int) view.Result { return []*repairCheck{s, other}[i%2].repairGroup(was, now) })
	s.wantGroup("in parallel", "1", "2")
}

// addShareWithoutMembers adds a share without members. A store may add it without reading the row.
func (s *repairCheck) addShareWithoutMembers() {
	s.t.Helper()
	s.writeGroups("a change in place", state.GroupChange{
		Row: s.testGroup(), Shares: 1, Version: version(s.t, 6),
		Sums: []state.Increment{{Name: "revenue", Amount: number(s.t, "100")}},
	})
}

// The row of a group may belong to another sink or another birth. Then the repair fails with the name of the owner, and
// the row stays.
func repairsOfOthersGroups(t *testing.T, s *repairCheck) {
	for who, change := range otherTargets {
		for _, now := range []view.Group{s.expectedGroup("5"), {Row: s.testGroup()}} {
			s.changeShares(who, true, "1")
			was := s.readGroup()
			putBack := s.Hand.Remove(t, s.StateStore, s.target.Table, s.testGroup())
			theirs := s.target
			change(&theirs)
			apply(t, s, theirs, theirRow(t, "g", "1"))
			rs, err := s.RepairGroups(t.Context(), s.target, []view.GroupRepair{{Expected: was, Next: now}})
			if who == "another birth" {
				wantOtherBirth(t, who, err)
			} else {
				must(t, err)
				wantForeign(t, who, rs[0].Err, theirs, s.testGroup())
			}
			if got := s.readRow(s.testGroup()); got.Version != version(t, 9) {
				t.Errorf("the row of %s is %+v", who, got)
			}
			putBack()
			s.changeShares(who, false, "1")
		}
	}
}
