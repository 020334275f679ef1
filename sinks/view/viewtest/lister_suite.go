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
// that reads of the store cost units. A store that is not billed must not call [state.Listing].Spend.
func RunListers(t *testing.T, open Open, billed bool) {
	checks := make(map[string]func(*testing.T, *storeCheck))
	for name, check := range map[string]func(*testing.T, *listerCheck){
		"Rows":           checkRowListing,
		"RowsInPlace":    func(t *testing.T, c *listerCheck) { c.target.InPlace = true; checkRowListing(t, c) },
		"Guards":         checkGuardListing,
		"Contributions":  checkContributionListing,
		"Groups":         checkGroupListing,
		"Members":        checkMemberListing,
		"NothingWritten": checkEmptyListing,
		"Spend":          checkSpentUnits,
	} {
		checks[name] = func(t *testing.T, s *storeCheck) { check(t, &listerCheck{s, billed}) }
	}
	runChecks(t, open, target, checks)
}

type listerCheck struct {
	*storeCheck
	billed bool
}

// neighbourTargets returns targets whose names are similar to those of own, so that a wrong listing could confuse them.
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
// divided into another number of segments. It fails the test if the results differ, or if there are many entries and
// all of them are in one segment. It also checks that wrong segments are refused, and that a listing can be stopped
// early.
func listRepeatedly[T any](
	c *listerCheck, list func(context.Context, state.Listing) iter.Seq2[T, error], text func(T) string,
) []string {
	c.t.Helper()
	want, _ := listSegments(c, 0, list, text)
	for _, segments := range []int{1, 2, 7, 40} {
		got, longest := listSegments(c, segments, list, text)
		checkEqual(c.t, fmt.Sprintf("entries of %d segments", segments), got, want)
		hasMany := len(got) >= 20
		if segments > 1 && hasMany && longest == len(got) {
			c.t.Errorf("one of %d segments has all %d entries", segments, len(got))
		}
	}

	for _, l := range []state.Listing{{Segment: 1}, {Segment: 2, Segments: 2}, {Segment: -1, Segments: 2},
		{Segments: -1}} {
		if _, err := count(list(c.t.Context(), l)); err == nil {
			c.t.Errorf("segment %d of %d is listed", l.Segment, l.Segments)
		}
	}
	for _, err := range list(c.t.Context(), state.Listing{}) {
		must(c.t, err)
		break // a listing can be stopped early without a panic
	}
	return want
}

// listSegments returns the sorted texts of all entries of a listing. segments is the number of segments that it is
// divided into; 0 if it is not divided. longest is the number of entries in the longest segment.
func listSegments[T any](
	c *listerCheck, segments int, list func(context.Context, state.Listing) iter.Seq2[T, error], text func(T) string,
) (texts []string, longest int) {
	c.t.Helper()
	for segment := range max(segments, 1) {
		entries := all(c.t, list(c.t.Context(), state.Listing{Segment: segment, Segments: segments, Spend: c.spend}))
		longest = max(longest, len(entries))
		for _, entry := range entries {
			texts = append(texts, text(entry))
		}
	}
	slices.Sort(texts)
	return texts, longest
}

func (c *listerCheck) spend(_ context.Context, units float64) error {
	if !c.billed {
		c.t.Errorf("it spends %v units", units)
	}
	return nil
}

// manyEntries is the number of long entries that a check writes. Together they are larger than a page of a listing.
const manyEntries = 60

func checkRowListing(t *testing.T, c *listerCheck) {
	own, former := c.target, c.target
	own.Birth, former.Birth = "b1", "b0"
	var want []string
	putListed := func(target view.Target, pk, sk string, sequence int, text string) view.Mutation {
		m := putRow(t, pk, sk, sequence, text)
		m.Source = item.Key(fmt.Sprintf("item-%d", sequence))
		want = append(want, fmt.Sprint(pk, "/", sk, " ", m.Version, " ", m.Source, " one ", target.Birth, " ", text[:4],
			len(text)))
		return m
	}

	long := strings.Repeat("x", 40<<10)
	var rows []view.Mutation
	for i := range manyEntries {
		rows = append(rows, putListed(own, fmt.Sprintf("pk%d", i/10), fmt.Sprintf("sk%d", i), i+1, "text"+long))
	}
	for chunk := range slices.Chunk(rows, 20) {
		apply(t, c, own, chunk...)
	}

	// Rows that are not listed.
	var gone, tombstones []view.Mutation
	for i := range 30 {
		gone = append(gone, putRow(t, "gone", fmt.Sprint(i), 1, "text"))
		tombstones = append(tombstones, tombstone(t, "gone", fmt.Sprint(i), 2))
	}
	apply(t, c, own, gone...)
	apply(t, c, own, append(tombstones, asVoid(tombstone(t, "void", "1", 1)))...)
	for i, other := range neighbourTargets(own) {
		apply(t, c, other, putRow(t, "other", fmt.Sprint(i), 1, "text"))
	}
	apply(t, c, former, putListed(former, "former", "1", 1, "text"))

	got := listRepeatedly(c, func(ctx context.Context, l state.Listing) iter.Seq2[view.Row, error] {
		return c.ListRows(ctx, own, l)
	}, func(r view.Row) string {
		pk, _ := r.PK.Text()
		sk, _ := r.SK.Text()
		v, _ := r.Item.Get("text")
		text, _ := v.Text()
		return fmt.Sprint(pk, "/", sk, " ", r.Version, " ", r.Source, " ", r.View, " ", r.Birth, " ", text[:4], len(text))
	})
	slices.Sort(want)
	checkEqual(t, "rows", got, want)
}

// longKey returns the key of item n. It is too long to be a part of a key in the state.
func longKey(t *testing.T, n int) item.Key {
	t.Helper()
	b, err := item.AppendKeyValue(nil, item.StringValue(fmt.Sprint(n, strings.Repeat("#", 1500))))
	must(t, err)
	return item.Key(b)
}

func checkGuardListing(t *testing.T, c *listerCheck) {
	own, former := target, target
	own.Birth, former.Birth = "b1", "b"
	writeItems := func(target view.Target, ws ...state.ItemWrite) {
		t.Helper()
		c.withTarget(target).wantWrites(strings.Repeat(".", len(ws)), ws...)
	}
	claim := func(key item.Key, sk string) state.ItemWrite {
		c := claimOf(t, key, 1, "text")
		return itemWrite(t, key, 0, 1, sk, claimsWrite(t, sk, "", "one"+sk, c, c))
	}

	// Items that own a row.
	var ws []state.ItemWrite
	var want []string
	for i := range manyEntries {
		key := item.Key(fmt.Sprintf("k%d,x", i))
		if i < 3 {
			key = longKey(t, i)
		}
		w := claim(key, fmt.Sprint(i))
		row := w.Rows[0].Row
		ws = append(ws, w)
		want = append(want, fmt.Sprint(key, w.Guard), fmt.Sprint(row, claimText(w.Rows[0].Claim)), fmt.Sprint(key, " has ", row))
	}

	// An item whose claim waits.
	waits := claim("waits", "0")
	rowWrite := &waits.Rows[0]
	rowWrite.Expected, rowWrite.Revision, rowWrite.Owner = "one0", "two0", ws[0].Rows[0].Claim
	want = append(want, fmt.Sprint("waits", waits.Guard), fmt.Sprint(rowWrite.Row, claimText(rowWrite.Claim)))

	// Items without a row, which are not listed.
	writeItems(own, append(ws, waits, claim("leaves", "left"),
		state.ItemWrite{Source: "none", Guard: state.Guard{Version: version(t, 1)}},
		state.ItemWrite{Source: "void", Guard: state.Guard{Version: version(t, 1), Void: true}})...)
	writeItems(own, state.ItemWrite{Source: "leaves", Expected: version(t, 1),
		Guard: state.Guard{Version: version(t, 2)},
		Rows:  []state.RowClaimsWrite{{Row: makeRow(t, "r", "left"), Expected: "oneleft"}}})
	for i, other := range append(neighbourTargets(own), former) {
		writeItems(other, claim(item.Key(fmt.Sprint("other", i)), fmt.Sprint("other", i)))
	}

	got := listRepeatedly(c, func(ctx context.Context, l state.Listing) iter.Seq2[state.ItemGuard, error] {
		return c.ListGuards(ctx, own.State(), l)
	}, func(g state.ItemGuard) string {
		switch {
		case g.Owns:
			return fmt.Sprint(g.Item, " has ", g.Row)
		case g.Claim != nil:
			return fmt.Sprint(g.Row, claimText(*g.Claim))
		default:
			return fmt.Sprint(g.Item, g.Guard)
		}
	})
	slices.Sort(want)
	checkEqual(t, "guards", got, want)
}

func checkContributionListing(t *testing.T, c *listerCheck) {
	own, former := groupTarget, groupTarget
	own.Birth, former.Birth = "b1", "b"
	contribute := func(target view.Target, w state.ContributionWrite) {
		t.Helper()
		c.withTarget(target).mustWrite("a contribution", groupWrite(w))
	}
	var want []string
	long := strings.Repeat("y", 40<<10)
	for i := range manyEntries {
		key := item.Key(fmt.Sprintf("k%d,x", i))
		if i < 3 {
			key = longKey(t, i)
		}
		w := countItem(t, key, 0, i+1, fmt.Sprint(i))
		w.Next.Shares[0].Values[1] = long
		contribute(own, w)
		want = append(want, fmt.Sprint(key, w.Next))
	}

	// Contributions without shares, which are not listed.
	contribute(own, countItem(t, "none", 0, 1, ""))
	void := countItem(t, "void", 0, 1, "")
	void.Next.Void = true
	contribute(own, void)
	contribute(own, countItem(t, "leaves", 0, 1, "1"))
	contribute(own, countItem(t, "leaves", 1, 2, ""))
	for i, other := range append(neighbourTargets(own), former) {
		contribute(other, countItem(t, item.Key(fmt.Sprint("other", i)), 0, 1, "1"))
	}

	got := listRepeatedly(c, func(ctx context.Context, l state.Listing) iter.Seq2[state.ItemContribution, error] {
		return c.ListContributions(ctx, own.State(), l)
	}, func(v state.ItemContribution) string { return fmt.Sprint(v.Item, v.Contribution) })
	slices.Sort(want)
	checkEqual(t, "contributions", got, want)
}

func checkEmptyListing(t *testing.T, c *listerCheck) {
	missing, never := target, target
	missing.Name, never.View = "no such table", "never"
	wantNoTable := func(what string, entries int, err error) {
		t.Helper()
		if entries != 0 || !errors.Is(err, view.ErrNoTable) {
			t.Errorf("%s of a table that is not there: %d and %v, want ErrNoTable", what, entries, err)
		}
	}
	n, err := count(c.ListRows(t.Context(), missing, state.Listing{}))
	wantNoTable("rows", n, err)
	n, err = count(c.ListGroups(t.Context(), missing, groupValues, state.Listing{}))
	wantNoTable("groups", n, err)
	_, err = c.ReadGroups(t.Context(), missing, groupValues, []state.Row{makeRow(t, "g", "1")})
	wantNoTable("a group", 0, err)

	apply(t, c, target, putRow(t, "a", "1", 1, "text"))
	for what, list := range c.lists(never, never) {
		if n, err := list(state.Listing{}); n != 0 || err != nil {
			t.Errorf("%d %s of a sink that never wrote, %v", n, what, err)
		}
	}
}

// lists returns functions that list the rows, guards and contributions of own, and the groups of groups. Each function
// returns the number of entries.
func (c *listerCheck) lists(own, groups view.Target) map[string]func(l state.Listing) (int, error) {
	ctx := c.t.Context()
	return map[string]func(l state.Listing) (int, error){
		"rows":          func(l state.Listing) (int, error) { return count(c.ListRows(ctx, own, l)) },
		"guards":        func(l state.Listing) (int, error) { return count(c.ListGuards(ctx, own.State(), l)) },
		"contributions": func(l state.Listing) (int, error) { return count(c.ListContributions(ctx, own.State(), l)) },
		"groups":        func(l state.Listing) (int, error) { return count(c.ListGroups(ctx, groups, groupValues, l)) },
	}
}

// count returns the number of values of a sequence. If there is an error, it is the number of values before the error.
func count[T any](seq iter.Seq2[T, error]) (n int, err error) {
	for _, err := range seq {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// checkSpentUnits checks the calls of Spend. A billed store must report the units of all entries that it reads,
// including entries that it leaves out. If Spend returns an error, the listing must end with this error.
func checkSpentUnits(t *testing.T, c *listerCheck) {
	apply(t, c, target, putRow(t, "a", "1", 1, strings.Repeat("x", 80<<10)))
	c.withTarget(groupTarget).mustWrite("a group", groupWrite(countItem(t, "a", 0, 1, strings.Repeat("1", 80<<10)),
		groupChange(t, "1", 1, "1",
			state.Member{Name: "least", Kind: state.Min, Value: sortable(t, `{"N":"1"}`), ID: "a"})))
	never := target
	never.View = "never"
	errStop := errors.New("enough")
	for what, list := range c.lists(never, groupTarget) {
		var spent atomic.Int64 // tenths of a unit
		_, err := list(state.Listing{Spend: func(_ context.Context, units float64) error {
			spent.Add(int64(units * 10))
			return nil
		}})
		must(t, err)
		least := int64(90)
		if what == "groups" { // the row and its members
			least = 10
		}
		tooLittle, tooMuch := c.billed && spent.Load() < least, !c.billed && spent.Load() > 0
		if tooLittle || tooMuch {
			t.Errorf("%s cost %d tenths of a unit", what, spent.Load())
		}
		_, err = list(state.Listing{Spend: func(context.Context, float64) error { return errStop }})
		if errors.Is(err, errStop) != c.billed {
			t.Errorf("%s: Spend ends the listing with %v", what, err)
		}
	}
}
