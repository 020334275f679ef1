package viewtest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// groupValues are the values of the groups in these checks.
var groupValues = []view.Value{
	{Name: "least", Kind: "min"}, {Name: "orders", Kind: "count"}, {Name: "greatest", Kind: "max"},
	{Name: "revenue", Kind: "sum"}, {Name: "different", Kind: "distinct"},
}

// changeGroups changes groups of a target.
func (c *listerCheck) changeGroups(target view.Target, gs ...state.GroupChange) {
	c.t.Helper()
	for _, g := range gs {
		c.withTarget(target).writeGroups("a group", g)
	}
}

// groupText returns a text with all fields of a group except its revision.
func groupText(g view.Group) string {
	text := fmt.Sprint(g.Row, " ", g.Birth, " ", g.Version, " shares ", g.Shares)
	for _, a := range slices.Concat(g.Counts, g.Sums) {
		text += fmt.Sprint(" ", a.Name, "=", a.Amount.String())
	}
	for _, m := range g.Members {
		text += fmt.Sprint(" ", m.Name, m.Kind, " ", m.Value, " of ", m.ID, m.Remove)
	}
	return text + " " + string(g.Item.AppendDynamoDBJSON(nil))
}

// groups lists the groups of a target, and returns their sorted texts. It also checks that ReadGroups returns the same
// groups.
func (c *listerCheck) groups(target view.Target) []string {
	c.t.Helper()
	textsWithRevision := func(groups []view.Group) (texts []string) {
		for _, g := range groups {
			texts = append(texts, groupText(g)+g.Revision)
		}
		return texts
	}
	listed := all(c.t, c.ListGroups(c.t.Context(), target, groupValues, state.Listing{}))
	var rows []state.Row
	for _, g := range listed {
		if g.Revision == "" {
			c.t.Errorf("the group %s has no revision", g.Row)
		}
		rows = append(rows, g.Row)
	}
	read, err := c.ReadGroups(c.t.Context(), target, groupValues, rows)
	must(c.t, err)
	checkEqual(c.t, "groups that are read", textsWithRevision(read), textsWithRevision(listed))
	return listRepeatedly(c, func(ctx context.Context, l state.Listing) iter.Seq2[view.Group, error] {
		return c.ListGroups(ctx, target, groupValues, l)
	}, groupText)
}

// groupAt returns the groupChange of the group (pk, 1). Groups with different partition keys may be in different
// segments of a listing; groups of one partition would all be in one segment.
func groupAt(t *testing.T, pk string, shares int64, amount string) state.GroupChange {
	t.Helper()
	c := groupChange(t, "1", shares, amount)
	c.Row = makeRow(t, pk, "1")
	return c
}

func checkGroupListing(t *testing.T, c *listerCheck) {
	own, former := groupTarget, groupTarget
	own.Birth, former.Birth = "b1", "b0"
	var want []string
	writeListed := func(target view.Target, pk string, shares int, amount string) {
		c.changeGroups(target, groupAt(t, pk, int64(shares), amount))
		want = append(want, fmt.Sprintf(
			`%s %s %s shares %d orders=%d revenue=%s {"PK":{"S":"%s"},"SK":{"S":"1"},"orders":{"N":"%d"},"revenue":{"N":"%s"}}`,
			makeRow(t, pk, "1"), target.Birth, version(t, 1), shares, shares, amount, pk, shares, amount))
	}
	for i := range manyEntries {
		writeListed(own, fmt.Sprintf("sk%d", i), i+1, fmt.Sprint(i))
	}
	writeListed(former, "former", 2, "5")

	// Groups that are not listed.
	c.changeGroups(own, groupAt(t, "gone", 1, "1"), groupAt(t, "gone", -1, "-1"))
	for i, other := range neighbourTargets(own) {
		c.changeGroups(other, groupAt(t, fmt.Sprint("other", i), 1, "1"))
	}
	slices.Sort(want)
	checkEqual(t, "groups", c.groups(own), want)

	read := func(pks ...string) []view.Group {
		t.Helper()
		var rows []state.Row
		for _, pk := range pks {
			rows = append(rows, makeRow(t, pk, "1"))
		}
		groups, err := c.ReadGroups(t.Context(), own, groupValues, rows)
		must(t, err)
		return groups
	}
	groups := read("other0", "sk1", "gone")
	for _, i := range []int{0, 2} {
		if groups[i].Row != "" || groups[i].Revision != "" {
			t.Errorf("group %d, of another sink or of none: %+v", i, groups[i])
		}
	}
	before := groups[1]
	if before.Shares != 2 {
		t.Errorf("the group has %d shares, want 2", before.Shares)
	}
	c.changeGroups(own, groupAt(t, "sk1", 0, "0"))
	if after := read("sk1")[0]; after.Revision == before.Revision || after.Revision == "" {
		t.Errorf("a write leaves the revision %q, and there was %q", after.Revision, before.Revision)
	}
}

func checkMemberListing(t *testing.T, c *listerCheck) {
	own, former := groupTarget, groupTarget
	own.Birth, former.Birth = "b1", "b0"
	longText, longID := strings.Repeat("long", 300), strings.Repeat("i", 400)
	values := map[string]string{"1": sortable(t, `{"N":"1"}`), "20": sortable(t, `{"N":"20"}`),
		"a": sortable(t, `{"S":"a\u0000b\u0001"}`), "long": sortable(t, `{"S":"`+longText+`"}`)}
	member := func(name string, kind state.MemberKind, value, id string) state.Member {
		return state.Member{Name: name, Kind: kind, Value: values[value], ID: id}
	}
	inOrder := []state.Member{
		member("least", state.Min, "1", "x"), member("least", state.Min, "1", "y"), member("least", state.Min, "20", longID),
		member("greatest", state.Max, "1", "x"), member("greatest", state.Max, "20", "z"),
		member("different", state.Distinct, "a", "x"), member("different", state.Distinct, "a", "y"),
		member("different", state.Distinct, "long", longID), member("different", state.Distinct, "long", "x"),
		member("different", state.Distinct, "1", "x"),
	}
	reversed, removed := slices.Clone(inOrder), slices.Clone(inOrder)
	slices.Reverse(reversed)
	for i := range removed {
		removed[i].Remove = true
	}

	change := func(target view.Target, pk string, shares int64, ms ...state.Member) {
		t.Helper()
		c.changeGroups(target,
			state.GroupChange{Row: makeRow(t, pk, "1"), Shares: shares, Version: version(t, 1), Members: ms})
	}
	var want []string
	expect := func(target view.Target, pk string, shares int64, members ...state.Member) {
		g := view.Group{Row: makeRow(t, pk, "1"), Birth: target.Birth, Shares: shares, Version: version(t, 1),
			Members: members}
		want = append(want, strings.TrimSuffix(groupText(g), " null"))
	}
	for i := range 20 {
		pk := fmt.Sprintf("sk%d", i)
		change(own, pk, 3, reversed...)
		expect(own, pk, 3, inOrder...)
	}

	// A group that was removed and came back has none of its former members.
	change(own, "again", 1, inOrder...)
	change(own, "again", -1)
	change(own, "again", 1, inOrder[1])
	expect(own, "again", 1, inOrder[1])
	change(own, "empty", 1, inOrder...)
	change(own, "empty", 0, removed...)
	expect(own, "empty", 1)
	change(former, "former", 1, inOrder[:2]...)
	expect(former, "former", 1, inOrder[:2]...)
	for i, other := range neighbourTargets(own) {
		change(other, fmt.Sprint("other", i), 1, inOrder...)
	}

	slices.Sort(want)
	got := c.groups(own)
	for i := range got { // this check ignores Item
		got[i], _, _ = strings.Cut(got[i], " {")
	}
	checkEqual(t, "groups", got, want)
}
