package viewtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// RunListers checks the listings of a store. A listing may be divided into any number of segments, which are read
// separately. All segments together must yield every entry of a sink exactly once, and no other entries. billed means
// that reads of the store cost units. A store that is not billed must not call Spend.
func RunListers(t *testing.T, open Open, billed bool) {
	checks := make(map[string]func(*testing.T, *storeCheck))
	for name, check := range map[string]func(*testing.T, *listerCheck){
		"Rows":           listsRows,
		"RowsInPlace":    func(t *testing.T, c *listerCheck) { c.target.InPlace = true; listsRows(t, c) },
		"Guards":         listsGuards,
		"Contributions":  listsContributions,
		"Groups":         listsGroups,
		"Members":        listsMembers,
		"NothingWritten": listsNothing,
		"Spend":          spendsUnits,
	} {
		checks[name] = func(t *testing.T, s *storeCheck) { check(t, &listerCheck{s, billed}) }
	}
	runChecks(t, open, target, checks)
}

type listerCheck struct {
	*storeCheck
	billed bool
}

// neighbourTargets returns targets that a wrong listing could confuse with own, because their names are similar.
func neighbourTargets(own view.Target) (others []view.Target) {
	for _, change := range []func(*view.Target){
		func(t *view.Target) { t.View += "2" },
		func(t *view.Target) { t.View = t.View[:1] },
		func(t *view.Target) { t.Pipeline += "2" },
		func(t *view.Target) { t.Pipeline = t.Pipeline[:1] },
		func(t *view.Target) { t.View, t.Pipeline = t.Pipeline, t.View },
		func(t *view.Target) { t.Name += "2" },
	} {
		other := own
		change(&other)
		others = append(others, other)
	}
	return others
}

// listRepeatedly returns the sorted texts of all entries of a listing. It lists the entries several times, each time
// divided into another number of segments. It fails the test if the results differ, or if one segment has all of many
// entries.
func listRepeatedly[T any](
	c *listerCheck, list func(context.Context, state.Listing) iter.Seq2[T, error], text func(T) string,
) []string {
	c.t.Helper()
	var want []string
	for _, segments := range []int{0, 1, 2, 7, 40} {
		var got []string
		maxInSegment := 0
		for segment := range max(segments, 1) {
			before := len(got)
			for _, v := range all(c.t, list(c.t.Context(),
				state.Listing{Segment: segment, Segments: segments, Spend: c.spend})) {
				got = append(got, text(v))
			}
			maxInSegment = max(maxInSegment, len(got)-before)
		}
		slices.Sort(got)
		if segments == 0 {
			want = got
		}
		checkEqual(c.t, fmt.Sprintf("entries of %d segments", segments), got, want)
		if segments > 1 && len(got) >= 20 && maxInSegment == len(got) {
			c.t.Errorf("one of %d segments has all %d entries", segments, len(got))
		}
	}
	for _, l := range []state.Listing{{Segment: 1}, {Segment: 2, Segments: 2}, {Segment: -1, Segments: 2},
		{Segments: -1}} {
		failed := false
		for _, err := range list(c.t.Context(), l) {
			failed = err != nil
		}
		if !failed {
			c.t.Errorf("segment %d of %d is listed", l.Segment, l.Segments)
		}
	}
	for _, err := range list(c.t.Context(), state.Listing{}) {
		must(c.t, err)
		break // a listing can be stopped early without a panic
	}
	return want
}

func (c *listerCheck) spend(_ context.Context, units float64) error {
	if !c.billed {
		c.t.Errorf("it spends %v units", units)
	}
	return nil
}

// manyEntries is the number of long entries of a listing. Together they are larger than a page.
const manyEntries = 60

func listsRows(t *testing.T, c *listerCheck) {
	own := c.target
	own.Birth = "b1"
	long := strings.Repeat("x", 40<<10)
	apply := func(target view.Target, ms ...view.Mutation) {
		t.Helper()
		for ms := range slices.Chunk(ms, 20) {
			apply(t, c, target, ms...)
		}
	}
	var ms []view.Mutation
	var want []string
	add := func(target view.Target, pk, sk string, sequence int, text string) view.Mutation {
		m := putRow(t, pk, sk, sequence, text)
		m.Source = item.Key(fmt.Sprintf("item-%d", sequence))
		if target.View == own.View && target.Pipeline == own.Pipeline {
			want = append(want, fmt.Sprint(pk, "/", sk, " ", m.Version, " ", m.Source, " one ", target.Birth, " ", text[:4],
				len(text)))
		}
		return m
	}
	for i := range manyEntries {
		ms = append(ms, add(own, fmt.Sprintf("pk%d", i/10), fmt.Sprintf("sk%d", i), i+1, "text"+long))
	}
	for i := range 30 { // rows that are removed again
		ms = append(ms, putRow(t, "gone", fmt.Sprint(i), 1, "text"))
	}
	apply(own, ms...)
	ms = nil
	for i := range 30 {
		ms = append(ms, tombstone(t, "gone", fmt.Sprint(i), 2))
	}
	void := tombstone(t, "void", "1", 1)
	void.Void = true
	apply(own, append(ms, void)...)
	for i, other := range neighbourTargets(own) {
		apply(other, putRow(t, "other", fmt.Sprint(i), 1, "text"))
	}
	before := own
	before.Birth = "b0"
	apply(before, add(before, "former", "1", 1, "text"))

	got := listRepeatedly(c, func(ctx context.Context, l state.Listing) iter.Seq2[view.Row, error] {
		return c.ListRows(ctx, own, l)
	}, func(r view.Row) string {
		pk, _ := r.PK.Text()
		sk, _ := r.SK.Text()
		v, _ := r.Item.Get("text")
		said, _ := v.Text()
		return fmt.Sprint(pk, "/", sk, " ", r.Version, " ", r.Source, " ", r.View, " ", r.Birth, " ", said[:4], len(said))
	})
	slices.Sort(want)
	checkEqual(t, "rows", got, want)
}

// longKey returns the key of an item that is too long for a key of the state.
func longKey(t *testing.T, n int) item.Key {
	t.Helper()
	b, err := item.AppendKeyValue(nil, item.StringValue(fmt.Sprint(n, strings.Repeat("#", 1500))))
	must(t, err)
	return item.Key(b)
}

func listsGuards(t *testing.T, c *listerCheck) {
	own := target
	own.Birth = "b1"
	settle := func(target view.Target, ws ...state.ItemWrite) {
		t.Helper()
		c.withTarget(target).wantWrites(strings.Repeat(".", len(ws)), ws...)
	}
	claim := func(key item.Key, sk string) state.ItemWrite {
		r, claim := groupRow(t, "r", sk), claimOf(t, key, 1, "text")
		return state.ItemWrite{
			Source: key, Guard: state.Guard{Version: version(t, 1), Row: r},
			Rows: []state.RowClaimsWrite{{Row: r, Revision: "one" + sk, Claim: claim, Owner: claim}},
		}
	}
	var ws []state.ItemWrite
	var want []string
	for i := range manyEntries {
		key := item.Key(fmt.Sprintf("k%d,x", i))
		if i < 3 {
			key = longKey(t, i)
		}
		w := claim(key, fmt.Sprint(i))
		ws, want = append(ws, w), append(want, fmt.Sprint(key, w.Guard),
			fmt.Sprint(w.Rows[0].Row, claimText(w.Rows[0].Claim)), fmt.Sprint(key, " has ", w.Rows[0].Row))
	}
	second := claim("waits", "0")
	rowWrite := &second.Rows[0]
	rowWrite.Expected, rowWrite.Revision, rowWrite.Owner = "one0", "two0", ws[0].Rows[0].Claim
	ws, want = append(ws, second), append(want, fmt.Sprint("waits", second.Guard),
		fmt.Sprint(rowWrite.Row, claimText(rowWrite.Claim)))
	ws = append(ws, claim("leaves", "left"),
		state.ItemWrite{Source: "none", Guard: state.Guard{Version: version(t, 1)}},
		state.ItemWrite{Source: "void", Guard: state.Guard{Version: version(t, 1), Void: true}})
	settle(own, ws...)
	leavingWrite := claim("leaves", "left").Rows[0]
	leavingWrite.Expected, leavingWrite.Revision, leavingWrite.Claim, leavingWrite.Owner = leavingWrite.Revision, "",
		state.Claim{}, state.Claim{}
	settle(own, state.ItemWrite{Source: "leaves", Expected: version(t, 1), Guard: state.Guard{Version: version(t, 2)},
		Rows: []state.RowClaimsWrite{leavingWrite}})
	before := own
	before.Birth = "b"
	for i, other := range append(neighbourTargets(own), before) {
		settle(other, claim(item.Key(fmt.Sprint("other", i)), fmt.Sprint("other", i)))
	}
	got := listRepeatedly(c, func(ctx context.Context, l state.Listing) iter.Seq2[state.ItemGuard, error] {
		return c.ListGuards(ctx, own.State(), l)
	}, func(g state.ItemGuard) string {
		if g.Owns {
			return fmt.Sprint(g.Item, " has ", g.Row)
		}
		if g.Claim != nil {
			return fmt.Sprint(g.Row, claimText(*g.Claim))
		}
		return fmt.Sprint(g.Item, g.Guard)
	})
	slices.Sort(want)
	checkEqual(t, "guards", got, want)
}

func listsContributions(t *testing.T, c *listerCheck) {
	own := groupTarget
	own.Birth = "b1"
	contribute := func(target view.Target, ws ...state.ContributionWrite) {
		t.Helper()
		for _, w := range ws {
			c.withTarget(target).mustWrite("a contribution", state.GroupWrite{Items: []state.ContributionWrite{w}})
		}
	}
	var ws []state.ContributionWrite
	var want []string
	long := strings.Repeat("y", 40<<10)
	for i := range manyEntries {
		key := item.Key(fmt.Sprintf("k%d,x", i))
		if i < 3 {
			key = longKey(t, i)
		}
		w := countItem(t, key, 0, i+1, fmt.Sprint(i))
		w.Next.Shares[0].Values[1] = long
		ws, want = append(ws, w), append(want, fmt.Sprint(key, w.Next))
	}
	void := countItem(t, "void", 0, 1, "")
	void.Next.Void = true
	contribute(own, append(ws, countItem(t, "none", 0, 1, ""), void, countItem(t, "leaves", 0, 1, "1"),
		countItem(t, "leaves", 1, 2, ""))...)
	before := own
	before.Birth = "b"
	for i, other := range append(neighbourTargets(own), before) {
		contribute(other, countItem(t, item.Key(fmt.Sprint("other", i)), 0, 1, "1"))
	}
	got := listRepeatedly(c, func(ctx context.Context, l state.Listing) iter.Seq2[state.ItemContribution, error] {
		return c.ListContributions(ctx, own.State(), l)
	}, func(v state.ItemContribution) string { return fmt.Sprint(v.Item, v.Contribution) })
	slices.Sort(want)
	checkEqual(t, "contributions", got, want)
}

// groupValues are the values of the groups in these checks.
var groupValues = []view.Value{
	{Name: "least", Of: "min"}, {Name: "orders", Of: "count"}, {Name: "greatest", Of: "max"}, {Name: "revenue", Of: "sum"},
	{Name: "different", Of: "distinct"},
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
	for _, amounts := range [][]state.Increment{g.Counts, g.Sums} {
		for _, a := range amounts {
			text += fmt.Sprint(" ", a.Name, "=", a.Amount.String())
		}
	}
	for _, m := range g.Members {
		text += fmt.Sprint(" ", m.Name, m.Kind, " ", m.Value, " of ", m.ID, m.Remove)
	}
	return text + " " + string(g.Item.AppendDynamoDBJSON(nil))
}

// groups returns the sorted texts of a target's groups, from a listing. It also checks that ReadGroups returns the same
// groups.
func (c *listerCheck) groups(target view.Target) []string {
	c.t.Helper()
	var rows []state.Row
	var listedGroups []string
	for _, g := range all(c.t, c.ListGroups(c.t.Context(), target, groupValues, state.Listing{})) {
		if g.Revision == "" {
			c.t.Errorf("the group %s has no revision", g.Row)
		}
		rows, listedGroups = append(rows, g.Row), append(listedGroups, groupText(g)+g.Revision)
	}
	read, err := c.ReadGroups(c.t.Context(), target, groupValues, rows)
	must(c.t, err)
	var readGroups []string
	for _, g := range read {
		readGroups = append(readGroups, groupText(g)+g.Revision)
	}
	checkEqual(c.t, "groups that are read", readGroups, listedGroups)
	return listRepeatedly(c, func(ctx context.Context, l state.Listing) iter.Seq2[view.Group, error] {
		return c.ListGroups(ctx, target, groupValues, l)
	}, groupText)
}

// groupAt returns a groupChange of a group with a partition of its own. Groups of one partition would all be in one
// segment.
func groupAt(t *testing.T, pk string, shares int64, amount string) state.GroupChange {
	t.Helper()
	c := groupChange(t, "1", shares, amount)
	c.Row = groupRow(t, pk, "1")
	return c
}

func listsGroups(t *testing.T, c *listerCheck) {
	own := groupTarget
	own.Birth = "b1"
	var want []string
	text := func(birth, sk string, shares int, amount string) string {
		return fmt.Sprintf(
			`%s %s %s shares %d orders=%d revenue=%s {"PK":{"S":"%s"},"SK":{"S":"1"},"orders":{"N":"%d"},"revenue":{"N":"%s"}}`,
			groupRow(t, sk, "1"), birth, version(t, 1), shares, shares, amount, sk, shares, amount)
	}
	for i := range manyEntries {
		sk := fmt.Sprintf("sk%d", i)
		c.changeGroups(own, groupAt(t, sk, int64(i+1), fmt.Sprint(i)))
		want = append(want, text("b1", sk, i+1, fmt.Sprint(i)))
	}
	c.changeGroups(own, groupAt(t, "gone", 1, "1"), groupAt(t, "gone", -1, "-1"))
	for i, other := range neighbourTargets(own) {
		c.changeGroups(other, groupAt(t, fmt.Sprint("other", i), 1, "1"))
	}
	before := own
	before.Birth = "b0"
	c.changeGroups(before, groupAt(t, "former", 2, "5"))
	want = append(want, text("b0", "former", 2, "5"))
	slices.Sort(want)
	checkEqual(t, "groups", c.groups(own), want)

	first, err := c.ReadGroups(t.Context(), own, groupValues,
		[]state.Row{groupRow(t, "other0", "1"), groupRow(t, "sk1", "1"), groupRow(t, "gone", "1")})
	must(t, err)
	if first[0].Row != "" || first[2].Row != "" || first[0].Revision != "" || first[2].Revision != "" ||
		first[1].Shares != 2 {
		t.Errorf("the rows of another sink, of a group, and of none: %+v", first)
	}
	c.changeGroups(own, groupAt(t, "sk1", 0, "0"))
	second, err := c.ReadGroups(t.Context(), own, groupValues, []state.Row{groupRow(t, "sk1", "1")})
	must(t, err)
	if second[0].Revision == first[1].Revision || second[0].Revision == "" {
		t.Errorf("a write leaves the revision %q, and there was %q", second[0].Revision, first[1].Revision)
	}
}

func listsMembers(t *testing.T, c *listerCheck) {
	own := groupTarget
	own.Birth = "b1"
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
	written := slices.Clone(inOrder)
	slices.Reverse(written)
	want := make([]string, 0, manyEntries)
	text := func(birth, sk string, shares int, members []state.Member) string {
		g := view.Group{Row: groupRow(t, sk, "1"), Birth: birth, Shares: int64(shares), Version: version(t, 1),
			Members: members}
		return strings.TrimSuffix(groupText(g), " null")
	}
	withoutAmounts := func(sk string, shares int64, ms ...state.Member) state.GroupChange {
		return state.GroupChange{Row: groupRow(t, sk, "1"), Shares: shares, Version: version(t, 1), Members: ms}
	}
	for i := range 20 {
		sk := fmt.Sprintf("sk%d", i)
		c.changeGroups(own, withoutAmounts(sk, 3, written...))
		want = append(want, text("b1", sk, 3, inOrder))
	}
	// A group that was removed and came back has none of its former members.
	removed := slices.Clone(inOrder)
	for i := range removed {
		removed[i].Remove = true
	}
	c.changeGroups(own, withoutAmounts("again", 1, inOrder...), withoutAmounts("again", -1),
		withoutAmounts("again", 1, inOrder[1]))
	want = append(want, text("b1", "again", 1, inOrder[1:2]))
	c.changeGroups(own, withoutAmounts("empty", 1, inOrder...), withoutAmounts("empty", 0, removed...))
	want = append(want, text("b1", "empty", 1, nil))
	before := own
	before.Birth = "b0"
	c.changeGroups(before, withoutAmounts("former", 1, inOrder[:2]...))
	want = append(want, text("b0", "former", 1, inOrder[:2]))
	for i, other := range neighbourTargets(own) {
		c.changeGroups(other, withoutAmounts(fmt.Sprint("other", i), 1, inOrder...))
	}
	slices.Sort(want)
	got := c.groups(own)
	for i := range got { // this check ignores Item
		got[i], _, _ = strings.Cut(got[i], " {")
	}
	checkEqual(t, "groups", got, want)
}

func listsNothing(t *testing.T, c *listerCheck) {
	missing := target
	missing.Name = "no such table"
	wantNoTable := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, view.ErrNoTable) {
			t.Errorf("%s of a table that is not there: %v, want ErrNoTable", what, err)
		}
	}
	errorOf := func(n int, err error) error {
		if n != 0 {
			t.Errorf("%d entries before the error", n)
		}
		return err
	}
	wantNoTable("rows", errorOf(count(c.ListRows(t.Context(), missing, state.Listing{}))))
	wantNoTable("groups", errorOf(count(c.ListGroups(t.Context(), missing, groupValues, state.Listing{}))))
	_, err := c.ReadGroups(t.Context(), missing, groupValues, []state.Row{groupRow(t, "g", "1")})
	wantNoTable("a group", err)

	apply(t, c, target, putRow(t, "a", "1", 1, "text"))
	never := target
	never.View = "never"
	for what, list := range c.lists(never, never) {
		if n, err := list(state.Listing{}); n != 0 || err != nil {
			t.Errorf("%d %s of a sink that never wrote, %v", n, what, err)
		}
	}
}

// lists returns functions that list the rows, guards and contributions of t, and the groups of groups. Each function
// returns the number of entries.
func (c *listerCheck) lists(t, groups view.Target) map[string]func(l state.Listing) (int, error) {
	ctx := c.t.Context()
	return map[string]func(l state.Listing) (int, error){
		"rows":          func(l state.Listing) (int, error) { return count(c.ListRows(ctx, t, l)) },
		"guards":        func(l state.Listing) (int, error) { return count(c.ListGuards(ctx, t.State(), l)) },
		"contributions": func(l state.Listing) (int, error) { return count(c.ListContributions(ctx, t.State(), l)) },
		"groups":        func(l state.Listing) (int, error) { return count(c.ListGroups(ctx, groups, groupValues, l)) },
	}
}

// count returns the number of values before an error.
func count[T any](seq iter.Seq2[T, error]) (n int, err error) {
	for _, err := range seq {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// spendsUnits checks the calls of Spend. A billed store must report the units of all entries that it reads, including
// entries that it leaves out. If Spend returns an error, the listing must end with this error.
func spendsUnits(t *testing.T, c *listerCheck) {
	apply(t, c, target, putRow(t, "a", "1", 1, strings.Repeat("x", 80<<10)))
	c.withTarget(groupTarget).mustWrite("a group", state.GroupWrite{
		Items: []state.ContributionWrite{countItem(t, "a", 0, 1, strings.Repeat("1", 80<<10))},
		Groups: []state.GroupChange{groupChange(t, "1", 1, "1",
			state.Member{Name: "least", Kind: state.Min, Value: sortable(t, `{"N":"1"}`), ID: "a"})},
	})
	never := target
	never.View = "never"
	stop := errors.New("enough")
	for what, list := range c.lists(never, groupTarget) {
		var spent atomic.Int64 // tenths of a unit
		_, err := list(state.Listing{Spend: func(_ context.Context, units float64) error {
			spent.Add(int64(units * 10))
			return nil
		}})
		must(t, err)
		if least := map[bool]int64{true: 90, false: 0}[c.billed && what != "groups"]; spent.Load() < least || !c.billed &&
			spent.Load() > 0 {
			t.Errorf("%s cost %d tenths of a unit", what, spent.Load())
		}
		if what == "groups" && c.billed && spent.Load() < 10 { // the row and its members
			t.Errorf("%s cost %d tenths of a unit", what, spent.Load())
		}
		_, err = list(state.Listing{Spend: func(context.Context, float64) error { return stop }})
		if errors.Is(err, stop) != c.billed {
			t.Errorf("%s: Spend ends the listing with %v", what, err)
		}
	}
}
