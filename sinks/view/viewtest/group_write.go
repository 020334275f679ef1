package viewtest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// RunGroups checks a store of aggregates. It has a test for each property of its writes.
func RunGroups(t *testing.T, open Open) {
	runChecks(t, open, groupTarget, map[string]func(*testing.T, *storeCheck){
		"ContributionsComeBack":  checkContributionsAreReadBack,
		"LostRaceChangesNothing": checkLostRaceChangesNothing,
		"WritesAreWhole":         checkWritesAreAtomic,
		"VoidContributions":      checkVoidContributions,
		"SumsAreExact":           checkSumsAreExact,
		"LeastAndGreatest":       checkLeastAndGreatest,
		"DifferentValues":        checkDifferentValues,
		"EmptyGroupsAreDeleted":  checkEmptyGroupsAreDeleted,
		"GroupsHaveOneOwner":     checkGroupsHaveOneOwner,
		"TwoProcesses":           checkGroupsOfTwoProcesses,
	})
}

var groupTarget = view.Target{Table: view.Table{Name: "My groups", PK: "PK", SK: "SK"}, View: "sums", Pipeline: "test"}

// write makes one write and returns its result.
func (s *storeCheck) write(w state.GroupWrite) view.Result {
	s.t.Helper()
	return s.onlyResult(s.Contribute(s.t.Context(), s.target, []state.GroupWrite{w}))
}

// writeGroups writes changes of groups, without contributions.
func (s *storeCheck) writeGroups(what string, gs ...state.GroupChange) {
	s.t.Helper()
	s.mustWrite(what, state.GroupWrite{Groups: gs})
}

// mustWrite makes one write, which must succeed.
func (s *storeCheck) mustWrite(what string, w state.GroupWrite) {
	s.t.Helper()
	wantDone(s.t, what, s.write(w))
}

func (s *storeCheck) contribution(key item.Key) state.Contribution {
	s.t.Helper()
	cs, err := s.Contributions(s.t.Context(), s.target.State(), []item.Key{key})
	if err != nil || len(cs) != 1 {
		s.t.Fatalf("%d contributions, %v", len(cs), err)
	}
	return cs[0]
}

func number(t *testing.T, text string) state.Number {
	t.Helper()
	n, err := state.ParseNumber(text)
	must(t, err)
	return n
}

func sortable(t *testing.T, json string) string {
	t.Helper()
	text, ok := state.SortableText(parseValue(t, json))
	if !ok {
		t.Fatalf("%s can't be sorted", json)
	}
	return text
}

// countItem returns the write of an item's contribution. The contribution adds amount to the group (g, 1), or nothing
// if amount is "". expected and next are the sequence numbers of the versions of the stored and the new contribution;
// if expected is 0, none is stored. The item began to count with version 1.
func countItem(t *testing.T, item item.Key, expected, next int, amount string) state.ContributionWrite {
	t.Helper()
	w := state.ContributionWrite{Source: item, Next: state.Contribution{Version: version(t, next), Since: version(t, 1)}}
	if expected > 0 {
		w.Expected.Version = version(t, expected)
	}
	if amount != "" {
		w.Next.Shares = []state.Share{{Group: makeRow(t, "g", "1"), Values: []string{amount, ""}}}
	}
	return w
}

// groupWrite returns a write that stores one contribution and applies changes to groups.
func groupWrite(item state.ContributionWrite, groups ...state.GroupChange) state.GroupWrite {
	return state.GroupWrite{Items: []state.ContributionWrite{item}, Groups: groups}
}

// groupChange returns a change of the group (g, sk). It adds shares and amount, and changes members.
func groupChange(t *testing.T, sk string, shares int64, amount string, members ...state.Member) state.GroupChange {
	t.Helper()
	return state.GroupChange{
		Row: makeRow(t, "g", sk), Shares: shares, Version: version(t, 1), Members: members,
		Counts: []state.Increment{{Name: "orders", Amount: state.NumberOf(decimal.Of(shares))}},
		Sums:   []state.Increment{{Name: "revenue", Amount: number(t, amount)}},
	}
}

func checkContributionsAreReadBack(t *testing.T, g *storeCheck) {
	want := state.Contribution{Version: version(t, 7), Since: version(t, 2), Shares: []state.Share{
		{Group: makeRow(t, "g", `é"\ 1`), Values: []string{"1.5", "", "b2"}},
		{Group: makeRow(t, "g", "2")},
	}}
	g.mustWrite("the first", groupWrite(state.ContributionWrite{Source: `a"b`, Next: want}))
	var items []item.Key
	for i := range 500 {
		items = append(items, item.Key(fmt.Sprintf("unknown%d", i)))
	}
	const known = 300
	items[known] = `a"b`
	stored, err := g.Contributions(t.Context(), g.target.State(), items)
	if err != nil || len(stored) != len(items) {
		t.Fatalf("%d contributions of %d items, %v", len(stored), len(items), err)
	}
	if got := stored[known]; fmt.Sprint(got) != fmt.Sprint(want) || got.Since != want.Since {
		t.Errorf("came back as %v, want %v", got, want)
	}
	for i, c := range stored {
		if i != known && (!c.Version.IsZero() || c.Shares != nil) {
			t.Errorf("an unknown item counts for %v", c)
		}
	}
	other := g.target
	other.View = "others"
	if cs, err := g.Contributions(t.Context(), other.State(), []item.Key{`a"b`}); err != nil || !cs[0].Version.IsZero() {
		t.Errorf("another aggregate knows the item: %v, %v", cs, err)
	}
}

func checkLostRaceChangesNothing(t *testing.T, g *storeCheck) {
	first := countItem(t, "a", 0, 5, "10")
	g.mustWrite("the first", groupWrite(first, groupChange(t, "1", 1, "10")))
	for name, w := range map[string]state.ContributionWrite{
		"the same again":                      first,
		"on a version that was not there":     countItem(t, "a", 4, 6, "20"),
		"on a version that is still to come":  countItem(t, "a", 6, 7, "20"),
		"of an item that was thought known":   countItem(t, "b", 5, 6, "20"),
		"on the zero version, and yet newer":  countItem(t, "a", 0, 9, "20"),
		"that takes away what is not counted": countItem(t, "c", 1, 2, ""),
	} {
		wantLost(t, name, g.write(groupWrite(w, groupChange(t, "1", 1, "20"), groupChange(t, "2", 1, "20"))))
	}
	g.wantRows(`{"PK":{"S":"g"},"SK":{"S":"1"},"orders":{"N":"1"},"revenue":{"N":"10"}}`)
	if v := g.contribution("a").Version; v != version(t, 5) {
		t.Errorf("the item is of version %s", v)
	}
	g.mustWrite("on the version that is there", groupWrite(countItem(t, "a", 5, 6, "4"), groupChange(t, "1", 0, "-6")))
	g.wantRows(`{"PK":{"S":"g"},"SK":{"S":"1"},"orders":{"N":"1"},"revenue":{"N":"4"}}`)
}

// A void contribution belongs to a change that could not be counted. A store returns it as void. A write of the same
// version replaces the contribution only if it is still void. So of two such writes, the second one is lost, and
// nothing is counted twice.
func checkVoidContributions(t *testing.T, g *storeCheck) {
	g.mustWrite("the first", groupWrite(countItem(t, "a", 0, 1, "1"), groupChange(t, "1", 1, "1")))
	void := countItem(t, "a", 1, 2, "")
	void.Next.Void = true
	g.mustWrite("a void", groupWrite(void, groupChange(t, "1", -1, "-1")))
	if c := g.contribution("a"); !c.Void || c.Version != version(t, 2) || len(c.Shares) > 0 {
		t.Errorf("the void came back as %+v", c)
	}
	fixed := groupWrite(countItem(t, "a", 2, 2, "7"), groupChange(t, "1", 1, "7"))
	wantLost(t, "over what was not void", g.write(fixed))
	fixed.Items[0].Expected.Void = true
	g.mustWrite("the same version", fixed)
	wantLost(t, "twice", g.write(fixed))
	g.wantRows(`{"PK":{"S":"g"},"SK":{"S":"1"},"orders":{"N":"1"},"revenue":{"N":"7"}}`)
	if c := g.contribution("a"); c.Void || len(c.Shares) != 1 {
		t.Errorf("the contribution is %+v", c)
	}
}

// Each write of a call is applied completely or not at all, whatever the results of the other writes are.
func checkWritesAreAtomic(t *testing.T, g *storeCheck) {
	g.mustWrite("the first", groupWrite(countItem(t, "a", 0, 1, "1"), groupChange(t, "1", 1, "1")))
	lost := groupWrite(countItem(t, "c", 0, 1, "4"), groupChange(t, "1", 2, "8"), groupChange(t, "3", 1, "8"))
	lost.Items = append(lost.Items, countItem(t, "a", 0, 2, "4"))
	rs, err := g.Contribute(t.Context(), g.target, []state.GroupWrite{
		groupWrite(countItem(t, "b", 0, 1, "2"), groupChange(t, "1", 1, "2")),
		lost,
		groupWrite(countItem(t, "d", 0, 1, "16"), groupChange(t, "2", 1, "16")),
	})
	must(t, err)
	checkEqual(t, "results", rs, []view.Result{{}, {Lost: true}, {}})
	g.wantRows(
		`{"PK":{"S":"g"},"SK":{"S":"1"},"orders":{"N":"2"},"revenue":{"N":"3"}}`,
		`{"PK":{"S":"g"},"SK":{"S":"2"},"orders":{"N":"1"},"revenue":{"N":"16"}}`)
	for item, isKnown := range map[item.Key]bool{"a": true, "b": true, "c": false, "d": true} {
		if c := g.contribution(item); c.Version.IsZero() == isKnown {
			t.Errorf("item %s: %v", item, c)
		}
	}
}

func checkSumsAreExact(t *testing.T, g *storeCheck) {
	amounts := []string{"1e125", "1e-130", "-0.1", "12345678901234567890123456789012345678", "0.00000000000000000001"}
	sum := state.Number{}
	for i, a := range amounts {
		d, err := decimal.Parse(a)
		must(t, err)
		sum = sum.Add(state.NumberOf(d))
		amounts[i] = d.String()
		g.writeGroups(a, groupChange(t, "1", 1, amounts[i]))
	}
	g.wantRows(fmt.Sprintf(`{"PK":{"S":"g"},"SK":{"S":"1"},"orders":{"N":"5"},"revenue":{"S":"%s"}}`, sum))
	for _, a := range amounts[:4] {
		g.writeGroups("taken away", groupChange(t, "1", -1, number(t, a).Neg().String()))
	}
	g.wantRows(fmt.Sprintf(`{"PK":{"S":"g"},"SK":{"S":"1"},"orders":{"N":"1"},"revenue":{"N":"%s"}}`, amounts[4]))
}

// memberChange adds or removes a member. json is the member's value.
type memberChange struct {
	id, json string
	remove   bool
}

func addMember(id, json string) memberChange    { return memberChange{id, json, false} }
func removeMember(id, json string) memberChange { return memberChange{id, json, true} }

// memberChanges returns the members of changes: each change once for each value in kinds.
func memberChanges(t *testing.T, kinds map[string]state.MemberKind, changes ...memberChange) []state.Member {
	t.Helper()
	var ms []state.Member
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		for _, c := range changes {
			ms = append(ms, state.Member{Name: name, Kind: kinds[name], Value: sortable(t, c.json), ID: c.id, Remove: c.remove})
		}
	}
	return ms
}

func checkLeastAndGreatest(t *testing.T, g *storeCheck) {
	kinds := map[string]state.MemberKind{"lo": state.Min, "hi": state.Max}
	step := func(what, want string, changes ...memberChange) {
		t.Helper()
		c := state.GroupChange{Row: makeRow(t, "g", "1"), Version: version(t, 1),
			Members: memberChanges(t, kinds, changes...)}
		for _, change := range changes {
			if change.remove {
				c.Shares--
			} else {
				c.Shares++
			}
		}
		g.writeGroups(what, c)
		g.wantRows(`{"PK":{"S":"g"},"SK":{"S":"1"}` + want + `}`)
	}
	step("one", `,"hi":{"N":"9"},"lo":{"N":"9"}`, addMember("a", `{"N":"9"}`))
	step("less and more", `,"hi":{"N":"10"},"lo":{"N":"-2.5"}`, addMember("b", `{"N":"10"}`), addMember("c", `{"N":"-2.5"}`))
	step("the greatest twice", `,"hi":{"N":"10"},"lo":{"N":"-2.5"}`, addMember("d", `{"N":"10.0"}`))
	step("the greatest once again", `,"hi":{"N":"10"},"lo":{"N":"-2.5"}`, removeMember("b", `{"N":"10"}`))
	step("the least goes", `,"hi":{"N":"10"},"lo":{"N":"9"}`, removeMember("c", `{"N":"-2.5"}`))
	step("a text is below all numbers", `,"hi":{"N":"10"},"lo":{"S":"x\u0000y"}`, addMember("e", `{"S":"x\u0000y"}`))
	step("it goes, and so does the greatest", `,"hi":{"N":"9"},"lo":{"N":"9"}`, removeMember("e", `{"S":"x\u0000y"}`),
		removeMember("d", `{"N":"10"}`))
	step("one replaces the other", `,"hi":{"N":"1"},"lo":{"N":"1"}`, removeMember("a", `{"N":"9"}`),
		addMember("a", `{"N":"1"}`))
	g.writeGroups("a share without a member", state.GroupChange{Row: makeRow(t, "g", "1"), Shares: 1,
		Version: version(t, 1)})
	step("no member is left", ``, removeMember("a", `{"N":"1"}`))
}

func checkDifferentValues(t *testing.T, g *storeCheck) {
	kinds := map[string]state.MemberKind{"buyers": state.Distinct}
	step := func(want string, changes ...memberChange) {
		t.Helper()
		c := state.GroupChange{Row: makeRow(t, "g", "1"), Version: version(t, 1),
			Members: memberChanges(t, kinds, changes...)}
		g.writeGroups(want, c)
		g.wantRows(`{"PK":{"S":"g"},"SK":{"S":"1"}` + want + `}`)
	}
	g.writeGroups("a share that stays", state.GroupChange{Row: makeRow(t, "g", "1"), Shares: 1, Version: version(t, 1)})
	step(`,"buyers":{"N":"2"}`, addMember("a", `{"S":"x"}`), addMember("b", `{"S":"x"}`), addMember("c", `{"S":"y"}`))
	step(`,"buyers":{"N":"2"}`, removeMember("a", `{"S":"x"}`))
	step(`,"buyers":{"N":"2"}`, removeMember("a", `{"S":"x"}`)) // the member was removed already
	step(`,"buyers":{"N":"2"}`, addMember("b", `{"S":"x"}`))    // the member was added already
	step(`,"buyers":{"N":"3"}`, addMember("c", `{"N":"1"}`))
	step(`,"buyers":{"N":"2"}`, removeMember("b", `{"S":"x"}`))
	step(``, removeMember("c", `{"S":"y"}`), removeMember("c", `{"N":"1.0"}`))
}

// A row is deleted with its last share. If its group gets a share again, the new row starts from zero.
func checkEmptyGroupsAreDeleted(t *testing.T, g *storeCheck) {
	lo := state.Member{Name: "lo", Kind: state.Min, Value: sortable(t, `{"N":"1"}`), ID: "a"}
	g.writeGroups("it comes", groupChange(t, "2", 1, "0"), groupChange(t, "1", 2, "5", lo))
	g.writeGroups("it goes", groupChange(t, "1", -2, "0"))
	g.wantRows(`{"PK":{"S":"g"},"SK":{"S":"2"},"orders":{"N":"1"},"revenue":{"N":"0"}}`)
	lo.Value = sortable(t, `{"N":"7"}`)
	g.writeGroups("it comes again", groupChange(t, "1", 1, "3", lo))
	g.writeGroups("comes and goes at once", groupChange(t, "3", 0, "0"))
	g.wantRows(
		`{"PK":{"S":"g"},"SK":{"S":"1"},"lo":{"N":"7"},"orders":{"N":"1"},"revenue":{"N":"3"}}`,
		`{"PK":{"S":"g"},"SK":{"S":"2"},"orders":{"N":"1"},"revenue":{"N":"0"}}`)
	lo.Remove = true
	g.writeGroups("its least goes", groupChange(t, "1", 0, "0", lo))
	g.wantRows( // the row has no min from before its deletion
		`{"PK":{"S":"g"},"SK":{"S":"1"},"orders":{"N":"1"},"revenue":{"N":"3"}}`,
		`{"PK":{"S":"g"},"SK":{"S":"2"},"orders":{"N":"1"},"revenue":{"N":"0"}}`)
}

// A write that changes a row of another view or another pipeline fails completely.
func checkGroupsHaveOneOwner(t *testing.T, g *storeCheck) {
	plain, others := g.target, g.target
	plain.View, others.Pipeline = "plain", "others"
	apply(t, g, plain, putRow(t, "g", "1", 1, "theirs"))
	g.writeGroups("a group of its own", groupChange(t, "3", 1, "1"))
	for _, c := range []struct {
		writer view.Target
		sk     string // sort key of a row that the writer may not change
		owner  view.Target
	}{{g.target, "1", plain}, {others, "3", g.target}} {
		writer := g.withTarget(c.writer)
		r := writer.write(groupWrite(countItem(t, "a", 0, 1, "1"), groupChange(t, "2", 1, "1"), groupChange(t, c.sk, 1, "1")))
		wantForeign(t, "the row of another view", r.Err, c.owner, makeRow(t, "g", c.sk))
		if stored := writer.contribution("a"); !stored.Version.IsZero() {
			t.Errorf("the item counts all the same: %v", stored)
		}
	}
	g.wantRows(`{"PK":{"S":"g"},"SK":{"S":"1"},"text":{"S":"theirs"}}`,
		`{"PK":{"S":"g"},"SK":{"S":"3"},"orders":{"N":"1"},"revenue":{"N":"1"}}`)
}

// Each process sees the writes of the other. Only one of two conflicting writes succeeds.
func checkGroupsOfTwoProcesses(t *testing.T, g *storeCheck) {
	g.mustWrite("one", groupWrite(countItem(t, "a", 0, 1, "1"), groupChange(t, "1", 1, "1")))
	other := g.reopen()
	if v := other.contribution("a").Version; v != version(t, 1) {
		t.Fatalf("the other process sees version %s", v)
	}
	two := groupWrite(countItem(t, "a", 1, 2, "3"), groupChange(t, "1", 0, "2"))
	other.mustWrite("the other", two)
	wantLost(t, "both", g.write(two))
	g.wantRows(`{"PK":{"S":"g"},"SK":{"S":"1"},"orders":{"N":"1"},"revenue":{"N":"3"}}`)
}
