package viewtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// RunItems checks a store of rows that are guarded by item. It checks each kind of write separately.
func RunItems(t *testing.T, open Open) {
	runChecks(t, open, target, map[string]func(*testing.T, *storeCheck){
		"ClaimsComeBack":         checkClaimsAreReadBack,
		"LostGuard":              checkLostGuard,
		"LostClaims":             checkLostClaims,
		"VoidGuards":             checkVoidGuards,
		"WritesBuildOnEarlier":   checkWritesBuildOnEarlier,
		"DependentWritesAreLost": checkDependentWritesAreLost,
		"OwnerChanges":           checkOwnerChanges,
		"RowsOfOtherViews":       checkRowsOfOtherViews,
		"ManyClaims":             checkManyClaims,
		"TwoProcesses":           checkItemsOfTwoProcesses,
		"ContestedRows":          checkContestedRows,
	})
}

// wantWrites writes ws and checks the results. want has a "." for each write that must succeed, and an "L" for each
// that must be lost.
func (s *storeCheck) wantWrites(want string, ws ...state.ItemWrite) {
	s.t.Helper()
	rs, err := s.WriteItems(s.t.Context(), s.target, ws)
	must(s.t, err)
	got := ""
	for _, r := range rs {
		switch {
		case r.Err != nil:
			got += " " + r.Err.Error()
		case r.Lost:
			got += "L"
		default:
			got += "."
		}
	}
	if got != want {
		s.t.Fatalf("settled %s, want %s", got, want)
	}
}

// wantTexts checks the rows: for each row its sort key, its item, and the value of its attribute "text".
func (s *storeCheck) wantTexts(want ...string) {
	s.t.Helper()
	var got []string
	for _, r := range all(s.t, s.Rows(s.t.Context(), s.target.Table, view.Query{})) {
		sk, _ := r.SK.Text()
		attribute, _ := r.Item.Get("text")
		text, _ := attribute.Text()
		got = append(got, fmt.Sprintf("%s of %s says %s", sk, r.Source, text))
	}
	checkEqual(s.t, "rows", got, want)
}

// wantGuards checks the guards of items.
func (s *storeCheck) wantGuards(items []item.Key, want ...state.Guard) {
	s.t.Helper()
	gs, err := s.Guards(s.t.Context(), s.target.State(), items)
	must(s.t, err)
	checkEqual(s.t, "guards", gs, want)
}

// wantClaims checks the claims on the row at sk. want is a text as claimsOn returns it.
func (s *storeCheck) wantClaims(sk, want string) {
	s.t.Helper()
	checkEqual(s.t, "claims", []string{s.claimsOn(sk)}, []string{want})
}

// claimsOn returns the claims on the row at sk as text: the revision, the owner, and the waiting claims.
func (s *storeCheck) claimsOn(sk string) string {
	s.t.Helper()
	rcs, err := s.RowClaims(s.t.Context(), s.target, []state.Row{makeRow(s.t, "r", sk)})
	if err != nil || len(rcs) != 1 || rcs[0].Row != makeRow(s.t, "r", sk) {
		s.t.Fatalf("claims %+v, %v", rcs, err)
	}
	rc := rcs[0]
	if rc.Foreign != nil {
		return "foreign " + rc.Foreign.View + " " + rc.Foreign.Pipeline
	}
	var waiting []string
	for _, c := range rc.Waiting {
		waiting = append(waiting, claimText(c))
	}
	slices.Sort(waiting)
	return fmt.Sprintf("%s: %s [%s]", rc.Revision, claimText(rc.Owner), strings.Join(waiting, " "))
}

func claimText(c state.Claim) string {
	if c.Source == "" {
		return "nobody"
	}
	text := string(c.Source)
	for _, a := range c.Attributes {
		value, _ := a.Value.Text()
		text += "=" + value
	}
	return text
}

// claimOf returns a claim of the item key. sequence is the sequence number of its version, and text is the value of its
// attribute "text".
func claimOf(t *testing.T, key item.Key, sequence int, text string) state.Claim {
	t.Helper()
	return state.Claim{
		Source: key, Version: version(t, sequence), Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Attributes: []state.Column{{Name: "text", Value: item.StringValue(text)}},
	}
}

// itemWrite returns the write that replaces the guard of an item. expected and next are the sequence numbers of the
// versions of the stored and the new guard; if expected is 0, no guard is stored. sk is the sort key of the row that
// the item claims; "" if it claims no row.
func itemWrite(
	t *testing.T, item item.Key, expected, next int, sk string, rcs ...state.RowClaimsWrite,
) state.ItemWrite {
	t.Helper()
	w := state.ItemWrite{Source: item, Guard: state.Guard{Version: version(t, next)}, Rows: rcs}
	if expected > 0 {
		w.Expected = version(t, expected)
	}
	if sk != "" {
		w.Guard.Row = makeRow(t, "r", sk)
	}
	return w
}

// noClaim is the claim of a write that removes the item's claim, and the owner of a row that has none.
var noClaim state.Claim

// claimsWrite returns the change of the claims on the row at sk. expected is the stored revision of the claims, and
// next is the new one. claim is the new claim of the item, and owner is the claim that then has the row.
func claimsWrite(t *testing.T, sk, expected, next string, claim, owner state.Claim) state.RowClaimsWrite {
	t.Helper()
	r := makeRow(t, "r", sk)
	return state.RowClaimsWrite{Row: r, Expected: expected, Revision: next, Claim: claim, Owner: owner}
}

func checkClaimsAreReadBack(t *testing.T, s *storeCheck) {
	a, b, c := claimOf(t, "a", 1, "A"), claimOf(t, "b", 7, "B"), claimOf(t, "c", 2, "")
	a.Attributes = []state.Column{
		{Name: `é "x"`, Value: parseValue(t, `{"N":"12345678901234567890.25"}`)},
		{Name: "b", Value: parseValue(t, `{"M":{"n":{"BS":["AA=="]}}}`)},
	}
	// DynamoDB allows 32 levels of nesting in an item. The value of an attribute can use 31 of them.
	b.Attributes = []state.Column{{Name: "deep", Value: parseValue(t,
		strings.Repeat(`{"L":[`, 31)+`{"S":"x"}`+strings.Repeat(`]}`, 31))}}
	c.Attributes = nil
	s.wantWrites("...",
		itemWrite(t, "a", 0, 1, "1", claimsWrite(t, "1", "", "r1", a, a)),
		itemWrite(t, "b", 0, 7, "1", claimsWrite(t, "1", "r1", "r2", b, a)),
		itemWrite(t, "c", 0, 2, "1", claimsWrite(t, "1", "r2", "r3", c, a)))
	rcs, err := s.RowClaims(t.Context(), s.target, []state.Row{makeRow(t, "r", "2"), makeRow(t, "r", "1")})
	must(t, err)
	if free := rcs[0]; free.Revision != "" || free.Owner.Source != "" || free.Waiting != nil || free.Foreign != nil {
		t.Errorf("nobody claimed the row, and yet %+v", free)
	}
	got := rcs[1]
	if got.Revision != "r3" || len(got.Waiting) != 2 {
		t.Fatalf("the claims are %+v", got)
	}
	if got.Waiting[0].Source != "b" {
		slices.Reverse(got.Waiting)
	}
	stored := append([]state.Claim{got.Owner}, got.Waiting...)
	for i, want := range []state.Claim{a, b, c} {
		checkEqual(t, "a claim", []string{claimJSON(stored[i])}, []string{claimJSON(want)})
	}
	s.wantTexts("1 of a says ")
	s.wantGuards([]item.Key{"b", "unknown", "a"}, state.Guard{Version: version(t, 7), Row: makeRow(t, "r", "1")},
		state.Guard{}, state.Guard{Version: version(t, 1), Row: makeRow(t, "r", "1")})
}

func claimJSON(c state.Claim) string {
	text := fmt.Sprint(c.Source, c.Version, c.Time)
	for _, a := range c.Attributes {
		text += a.Name + string(a.Value.AppendDynamoDBJSON(nil))
	}
	return text
}

func checkLostGuard(t *testing.T, s *storeCheck) {
	a, x := claimOf(t, "a", 5, "A"), claimOf(t, "x", 9, "X")
	s.wantWrites(".", itemWrite(t, "a", 0, 5, "1", claimsWrite(t, "1", "", "r1", a, a)))
	s.wantWrites("L", itemWrite(t, "a", 0, 6, "2", claimsWrite(t, "2", "", "x", x, x)))
	s.wantWrites("L", itemWrite(t, "a", 4, 6, "2", claimsWrite(t, "2", "", "x", x, x)))
	s.wantWrites("L", itemWrite(t, "a", 6, 7, "2", claimsWrite(t, "2", "", "x", x, x)))
	s.wantWrites("L", itemWrite(t, "b", 5, 6, "2", claimsWrite(t, "2", "", "x", x, x)))
	s.wantTexts("1 of a says A")
	s.wantClaims("2", ": nobody []")
	s.wantWrites(".", itemWrite(t, "a", 5, 6, "", claimsWrite(t, "1", "r1", "", noClaim, noClaim)))
	s.wantTexts()
	s.wantGuards([]item.Key{"a"}, state.Guard{Version: version(t, 6)})
}

// A void guard belongs to a change that could not be mapped to a row. A store returns it as void. A write of the same
// version replaces the guard only if it is still void. So of two such writes, the second one is lost.
func checkVoidGuards(t *testing.T, s *storeCheck) {
	a, aa := claimOf(t, "a", 5, "A"), claimOf(t, "a", 6, "AA")
	s.wantWrites(".", itemWrite(t, "a", 0, 5, "1", claimsWrite(t, "1", "", "r1", a, a)))
	void := itemWrite(t, "a", 5, 6, "", claimsWrite(t, "1", "r1", "", noClaim, noClaim))
	void.Guard.Void = true
	s.wantWrites(".", void)
	s.wantGuards([]item.Key{"a"}, state.Guard{Version: version(t, 6), Void: true})
	fixed := itemWrite(t, "a", 6, 6, "2", claimsWrite(t, "2", "", "r1", aa, aa))
	s.wantWrites("L", fixed)
	fixed.ExpectedVoid = true
	none := itemWrite(t, "a", 6, 6, "")
	none.ExpectedVoid = true
	s.wantWrites(".L", fixed, none)
	s.wantTexts("2 of a says AA")
	s.wantGuards([]item.Key{"a"}, state.Guard{Version: version(t, 6), Row: makeRow(t, "r", "2")})
}

func checkLostClaims(t *testing.T, s *storeCheck) {
	a, b := claimOf(t, "a", 1, "A"), claimOf(t, "b", 1, "B")
	s.wantWrites(".", itemWrite(t, "a", 0, 1, "1", claimsWrite(t, "1", "", "r1", a, a)))
	s.wantWrites("L", itemWrite(t, "b", 0, 1, "1", claimsWrite(t, "1", "", "x", b, b)))
	s.wantWrites("L", itemWrite(t, "b", 0, 1, "1", claimsWrite(t, "2", "", "x", b, b),
		claimsWrite(t, "1", "r0", "x", b, b)))
	s.wantWrites("L", itemWrite(t, "b", 0, 1, "2", claimsWrite(t, "2", "r1", "x", b, b)))
	s.wantTexts("1 of a says A")
	s.wantGuards([]item.Key{"b"}, state.Guard{})
}

// A later write of a call builds on the versions and revisions of earlier writes.
func checkWritesBuildOnEarlier(t *testing.T, s *storeCheck) {
	a, b := claimOf(t, "a", 1, "A"), claimOf(t, "b", 1, "B")
	a2 := claimOf(t, "a", 2, "AA")
	s.wantWrites("....",
		itemWrite(t, "a", 0, 1, "1", claimsWrite(t, "1", "", "r1", a, a)),
		itemWrite(t, "b", 0, 1, "1", claimsWrite(t, "1", "r1", "r2", b, a)),
		itemWrite(t, "a", 1, 2, "2", claimsWrite(t, "1", "r2", "r3", noClaim, b),
			claimsWrite(t, "2", "", "q1", a2, a2)),
		itemWrite(t, "b", 1, 2, "", claimsWrite(t, "1", "r3", "", noClaim, noClaim)))
	s.wantTexts("2 of a says AA")
	s.wantClaims("1", ": nobody []")
}

// A write that builds on a lost write is lost too. The other writes of the call succeed.
func checkDependentWritesAreLost(t *testing.T, s *storeCheck) {
	a, b, c := claimOf(t, "a", 1, "A"), claimOf(t, "b", 1, "B"), claimOf(t, "c", 1, "C")
	s.wantWrites("L.L.L",
		itemWrite(t, "a", 3, 4, "1", claimsWrite(t, "1", "", "r1", a, a)),
		itemWrite(t, "b", 0, 1, "2", claimsWrite(t, "2", "", "q1", b, b)),
		itemWrite(t, "a", 4, 5, "1", claimsWrite(t, "1", "r1", "r2", a, a)),
		itemWrite(t, "c", 0, 1, "2", claimsWrite(t, "2", "q1", "q2", c, b)),
		itemWrite(t, "d", 0, 1, "1", claimsWrite(t, "1", "r2", "r3", c, c)))
	s.wantTexts("2 of b says B")
	s.wantClaims("2", "q2: b=B [c=C]")
}

// If the owner leaves, a waiting claim gets the row in the same write.
func checkOwnerChanges(t *testing.T, s *storeCheck) {
	a, b, c := claimOf(t, "a", 1, "A"), claimOf(t, "b", 2, "B"), claimOf(t, "c", 3, "C")
	s.wantWrites("...",
		itemWrite(t, "a", 0, 1, "1", claimsWrite(t, "1", "", "r1", a, a)),
		itemWrite(t, "b", 0, 2, "1", claimsWrite(t, "1", "r1", "r2", b, a)),
		itemWrite(t, "c", 0, 3, "1", claimsWrite(t, "1", "r2", "r3", c, a)))
	s.wantTexts("1 of a says A")
	s.wantWrites(".", itemWrite(t, "a", 1, 9, "", claimsWrite(t, "1", "r3", "r4", noClaim, b)))
	s.wantTexts("1 of b says B")
	s.wantClaims("1", "r4: b=B [c=C]")
	better := claimOf(t, "c", 4, "CC")
	s.wantWrites(".", itemWrite(t, "c", 3, 4, "1", claimsWrite(t, "1", "r4", "r5", better, b)))
	s.wantWrites(".", itemWrite(t, "b", 2, 3, "", claimsWrite(t, "1", "r5", "r6", noClaim, noClaim)))
	s.wantTexts()
	s.wantClaims("1", "r6: nobody [c=CC]")
	s.wantWrites(".", itemWrite(t, "c", 4, 5, "1", claimsWrite(t, "1", "r6", "r7", better, better)))
	s.wantTexts("1 of c says CC")
}

// A row of another view or another pipeline is neither replaced nor deleted.
func checkRowsOfOtherViews(t *testing.T, s *storeCheck) {
	a := claimOf(t, "a", 1, "A")
	plain := s.target
	plain.View = "plain"
	apply(t, s, plain, putRow(t, "r", "1", 1, "theirs"))
	s.wantClaims("1", "foreign plain test")
	s.wantWrites("L", itemWrite(t, "a", 0, 1, "1", claimsWrite(t, "1", "", "r1", a, a)))
	s.wantWrites(".", itemWrite(t, "a", 0, 1, "2", claimsWrite(t, "2", "", "r1", a, a)))
	other := s.withTarget(s.target)
	other.target.Pipeline = "others"
	other.wantClaims("2", "foreign one test")
	other.wantWrites("L", itemWrite(t, "a", 0, 1, "2", claimsWrite(t, "2", "", "r1", a, a)))
	rs, err := s.Apply(t.Context(), plain, []view.Mutation{putRow(t, "r", "2", 9, "theirs"), tombstone(t, "r", "2", 9)})
	must(t, err)
	for i := range rs {
		wantForeign(t, "a claimed row that was written by the view plain", rs[i].Err, s.target, makeRow(t, "r", "2"))
	}
	if len(rs) != 2 {
		t.Errorf("%d results", len(rs))
	}
	s.wantTexts("1 of source says theirs", "2 of a says A")
}

func checkManyClaims(t *testing.T, s *storeCheck) {
	const n = 700
	var ws []state.ItemWrite
	var rows []state.Row
	var keys []item.Key
	for i := range n {
		key := item.Key(fmt.Sprintf("item%d", i))
		c := claimOf(t, key, i+1, "x")
		ws = append(ws, itemWrite(t, key, 0, i+1, fmt.Sprint(i), claimsWrite(t, fmt.Sprint(i), "", "r", c, c)))
		rows, keys = append(rows, ws[i].Guard.Row), append(keys, key)
	}
	s.wantWrites(strings.Repeat(".", n), ws...)
	rcs, err := s.RowClaims(t.Context(), s.target, rows)
	must(t, err)
	gs, err := s.Guards(t.Context(), s.target.State(), keys)
	must(t, err)
	for i := range n {
		if rcs[i].Row != rows[i] || rcs[i].Owner.Source != keys[i] || gs[i] != ws[i].Guard {
			t.Fatalf("item %d: %+v, %+v", i, rcs[i], gs[i])
		}
	}
}

// ContestedRows yields exactly the rows on which claims wait, with their owners.
func checkContestedRows(t *testing.T, s *storeCheck) {
	list := func(target view.Target) (texts []string) {
		for _, r := range all(t, s.ContestedRows(t.Context(), target.State())) {
			_, sk, err := r.Row.Decode()
			must(t, err)
			name, _ := sk.Text()
			texts = append(texts, fmt.Sprint(name[:min(len(name), 4)], len(name), " ", r.Owner, r.Waiting))
		}
		slices.Sort(texts)
		return texts
	}
	checkEqual(t, "before the first claim", list(s.target), nil)
	long := "long" + strings.Repeat("#", 900) // too long for a partition key of the state
	a, b, c := claimOf(t, "a", 1, "A"), claimOf(t, "b", 1, "B"), claimOf(t, "c", 1, "C")
	d, e := claimOf(t, "d", 1, "D"), claimOf(t, "e", 1, "E")
	s.wantWrites(".....",
		itemWrite(t, "b", 0, 1, "1", claimsWrite(t, "1", "", "r1", b, b)),
		itemWrite(t, "a", 0, 1, "1", claimsWrite(t, "1", "r1", "r2", a, b)),
		itemWrite(t, "c", 0, 1, "1", claimsWrite(t, "1", "r2", "r3", c, b)),
		itemWrite(t, "d", 0, 1, long, claimsWrite(t, long, "", "r1", d, d)),
		itemWrite(t, "e", 0, 1, long, claimsWrite(t, long, "r1", "r2", e, d)))
	f := claimOf(t, "f", 1, "F")
	s.wantWrites(".", itemWrite(t, "f", 0, 1, "2", claimsWrite(t, "2", "", "r1", f, f)))
	checkEqual(t, "contested rows", list(s.target), []string{"11 b[a c]", "long904 d[e]"})
	other := s.withTarget(s.target)
	other.target.View = "one2"
	checkEqual(t, "of another view", list(other.target), nil)
	s.wantWrites(".", itemWrite(t, "e", 1, 2, "", claimsWrite(t, long, "r2", "r3", noClaim, d)))
	checkEqual(t, "after a claim is gone", list(s.target), []string{"11 b[a c]"})
	for r, err := range s.ContestedRows(t.Context(), s.target.State()) {
		must(t, err)
		checkEqual(t, "the first", r.Waiting, []item.Key{"a", "c"})
		break
	}
}

func checkItemsOfTwoProcesses(t *testing.T, s *storeCheck) {
	a, b := claimOf(t, "a", 1, "A"), claimOf(t, "b", 1, "B")
	other := s.reopen()
	s.wantWrites(".", itemWrite(t, "a", 0, 1, "1", claimsWrite(t, "1", "", "r1", a, a)))
	other.wantClaims("1", "r1: a=A []")
	other.wantWrites("L", itemWrite(t, "b", 0, 1, "1", claimsWrite(t, "1", "", "r1", b, b)))
	other.wantWrites(".", itemWrite(t, "b", 0, 1, "1", claimsWrite(t, "1", "r1", "r2", b, a)))
	s.wantWrites("L", itemWrite(t, "a", 1, 2, "", claimsWrite(t, "1", "r1", "", noClaim, noClaim)))
	s.wantClaims("1", "r2: a=A [b=B]")
}
