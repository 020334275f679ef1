package viewtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// RunItems checks a store of rows that are guarded by item, write by write.
func RunItems(t *testing.T, open Open) {
	runChecks(t, open, target, map[string]func(*testing.T, *shelf){
		"ClaimsComeBack":       claimsComeBack,
		"LostGuard":            lostGuard,
		"LostClaims":           lostClaims,
		"VoidGuards":           voidGuards,
		"WritesBuildOnEarlier": writesBuildOnEarlier,
		"LostTogether":         lostTogether,
		"HandedOver":           handedOver,
		"RowsOfOtherViews":     rowsOfOtherViews,
		"ManyClaims":           manyClaims,
		"TwoProcesses":         itemsOfTwoProcesses,
	})
}

// settle expects what becomes of writes: a "." for each that is done, an "L" for
// each that is lost.
func (s *shelf) settle(want string, ws ...state.ItemWrite) {
	s.t.Helper()
	rs, err := s.Settle(s.t.Context(), s.target, ws)
	need(s.t, err)
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

// sourced expects the rows with their items and what their attribute text says.
func (s *shelf) sourced(want ...string) {
	s.t.Helper()
	var got []string
	for _, r := range all(s.t, s.Rows(s.t.Context(), s.target.Table, view.Query{})) {
		sk, _ := r.SK.Text()
		text, _ := r.Item.Get("text")
		said, _ := text.Text()
		got = append(got, fmt.Sprintf("%s of %s says %s", sk, r.Source, said))
	}
	same(s.t, "rows", got, want)
}

// guards expects the guards of items.
func (s *shelf) guards(items []item.Key, want ...state.Guard) {
	s.t.Helper()
	gs, err := s.Guards(s.t.Context(), s.target, items)
	need(s.t, err)
	same(s.t, "guards", gs, want)
}

// owns expects the claims on a row.
func (s *shelf) owns(sk, want string) {
	s.t.Helper()
	same(s.t, "claims", []string{s.claimsOn(sk)}, []string{want})
}

// claimsOn returns the claims on a row as text: the revision, the owner, and the waiting ones.
func (s *shelf) claimsOn(sk string) string {
	s.t.Helper()
	rcs, err := s.RowClaims(s.t.Context(), s.target, []state.Row{groupRow(s.t, "r", sk)})
	if err != nil || len(rcs) != 1 || rcs[0].Row != groupRow(s.t, "r", sk) {
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
		said, _ := a.Value.Text()
		text += "=" + said
	}
	return text
}

// claimOf is what an item claims as of a version: to say text.
func claimOf(t *testing.T, image item.Key, sequence int, text string) state.Claim {
	t.Helper()
	return state.Claim{
		Source: image, Version: version(t, sequence), Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Attributes: []state.Column{{Name: "text", Value: item.StringValue(text)}},
	}
}

// step moves an item from the version was to now, and to the row at sk ("": to none).
func step(t *testing.T, item item.Key, was, now int, sk string, rcs ...state.RowClaimsWrite) state.ItemWrite {
	t.Helper()
	w := state.ItemWrite{Source: item, Guard: state.Guard{Version: version(t, now)}, Rows: rcs}
	if was > 0 {
		w.Was = version(t, was)
	}
	if sk != "" {
		w.Guard.Row = groupRow(t, "r", sk)
	}
	return w
}

// takes changes the claims on the row at sk from one revision to the next.
func takes(t *testing.T, sk, was, revision string, claim, owner state.Claim) state.RowClaimsWrite {
	t.Helper()
	return state.RowClaimsWrite{Row: groupRow(t, "r", sk), Was: was, Revision: revision, Claim: claim, Owner: owner}
}

func claimsComeBack(t *testing.T, s *shelf) {
	a, b, c := claimOf(t, "a", 1, "A"), claimOf(t, "b", 7, "B"), claimOf(t, "c", 2, "")
	a.Attributes = []state.Column{
		{Name: `é "x"`, Value: value(t, `{"N":"12345678901234567890.25"}`)}, {Name: "b", Value: value(t, `{"M":{"n":{"BS":["AA=="]}}}`)},
	}
	// DynamoDB takes items nested to 32 levels, of which 31 are in an attribute.
	b.Attributes = []state.Column{{Name: "deep", Value: value(t, strings.Repeat(`{"L":[`, 31)+`{"S":"x"}`+strings.Repeat(`]}`, 31))}}
	c.Attributes = nil
	s.settle("...",
		step(t, "a", 0, 1, "1", takes(t, "1", "", "r1", a, a)),
		step(t, "b", 0, 7, "1", takes(t, "1", "r1", "r2", b, a)),
		step(t, "c", 0, 2, "1", takes(t, "1", "r2", "r3", c, a)))
	rcs, err := s.RowClaims(t.Context(), s.target, []state.Row{groupRow(t, "r", "2"), groupRow(t, "r", "1")})
	need(t, err)
	if e := rcs[0]; e.Revision != "" || e.Owner.Source != "" || e.Waiting != nil || e.Foreign != nil {
		t.Errorf("nobody claimed the row, and yet %+v", e)
	}
	got := rcs[1]
	if got.Revision != "r3" || len(got.Waiting) != 2 {
		t.Fatalf("the claims are %+v", got)
	}
	if got.Waiting[0].Source != "b" {
		slices.Reverse(got.Waiting)
	}
	for i, want := range []state.Claim{a, b, c} {
		have := append([]state.Claim{got.Owner}, got.Waiting...)[i]
		same(t, "a claim", []string{claimJSON(have)}, []string{claimJSON(want)})
	}
	s.sourced("1 of a says ")
	s.guards([]item.Key{"b", "unknown", "a"}, state.Guard{Version: version(t, 7), Row: groupRow(t, "r", "1")}, state.Guard{}, state.Guard{Version: version(t, 1), Row: groupRow(t, "r", "1")})
}

func claimJSON(c state.Claim) string {
	text := fmt.Sprint(c.Source, c.Version, c.Time)
	for _, a := range c.Attributes {
		text += a.Name + string(a.Value.AppendDynamoDBJSON(nil))
	}
	return text
}

func lostGuard(t *testing.T, s *shelf) {
	a, x := claimOf(t, "a", 5, "A"), claimOf(t, "x", 9, "X")
	s.settle(".", step(t, "a", 0, 5, "1", takes(t, "1", "", "r1", a, a)))
	s.settle("L", step(t, "a", 0, 6, "2", takes(t, "2", "", "x", x, x)))
	s.settle("L", step(t, "a", 4, 6, "2", takes(t, "2", "", "x", x, x)))
	s.settle("L", step(t, "a", 6, 7, "2", takes(t, "2", "", "x", x, x)))
	s.settle("L", step(t, "b", 5, 6, "2", takes(t, "2", "", "x", x, x)))
	s.sourced("1 of a says A")
	s.owns("2", ": nobody []")
	s.settle(".", step(t, "a", 5, 6, "", takes(t, "1", "r1", "", state.Claim{}, state.Claim{})))
	s.sourced()
	s.guards([]item.Key{"a"}, state.Guard{Version: version(t, 6)})
}

// A void guard comes back as one, and is written over on condition that it is void still:
// of two that replace it by the same version one is lost.
func voidGuards(t *testing.T, s *shelf) {
	a, aa := claimOf(t, "a", 5, "A"), claimOf(t, "a", 6, "AA")
	s.settle(".", step(t, "a", 0, 5, "1", takes(t, "1", "", "r1", a, a)))
	void := step(t, "a", 5, 6, "", takes(t, "1", "r1", "", state.Claim{}, state.Claim{}))
	void.Guard.Void = true
	s.settle(".", void)
	s.guards([]item.Key{"a"}, state.Guard{Version: version(t, 6), Void: true})
	mended := step(t, "a", 6, 6, "2", takes(t, "2", "", "r1", aa, aa))
	s.settle("L", mended)
	mended.WasVoid = true
	none := step(t, "a", 6, 6, "")
	none.WasVoid = true
	s.settle(".L", mended, none)
	s.sourced("2 of a says AA")
	s.guards([]item.Key{"a"}, state.Guard{Version: version(t, 6), Row: groupRow(t, "r", "2")})
}

func lostClaims(t *testing.T, s *shelf) {
	a, b := claimOf(t, "a", 1, "A"), claimOf(t, "b", 1, "B")
	s.settle(".", step(t, "a", 0, 1, "1", takes(t, "1", "", "r1", a, a)))
	s.settle("L", step(t, "b", 0, 1, "1", takes(t, "1", "", "x", b, b)))
	s.settle("L", step(t, "b", 0, 1, "1", takes(t, "2", "", "x", b, b), takes(t, "1", "r0", "x", b, b)))
	s.settle("L", step(t, "b", 0, 1, "2", takes(t, "2", "r1", "x", b, b)))
	s.sourced("1 of a says A")
	s.guards([]item.Key{"b"}, state.Guard{})
}

// A later write of a call builds on the versions and revisions of earlier ones.
func writesBuildOnEarlier(t *testing.T, s *shelf) {
	a, b := claimOf(t, "a", 1, "A"), claimOf(t, "b", 1, "B")
	a2 := claimOf(t, "a", 2, "AA")
	s.settle("....",
		step(t, "a", 0, 1, "1", takes(t, "1", "", "r1", a, a)),
		step(t, "b", 0, 1, "1", takes(t, "1", "r1", "r2", b, a)),
		step(t, "a", 1, 2, "2", takes(t, "1", "r2", "r3", state.Claim{}, b), takes(t, "2", "", "q1", a2, a2)),
		step(t, "b", 1, 2, "", takes(t, "1", "r3", "", state.Claim{}, state.Claim{})))
	s.sourced("2 of a says AA")
	s.owns("1", ": nobody []")
}

// A write that builds on a lost one is lost too; others of the call are done.
func lostTogether(t *testing.T, s *shelf) {
	a, b, c := claimOf(t, "a", 1, "A"), claimOf(t, "b", 1, "B"), claimOf(t, "c", 1, "C")
	s.settle("L.L.L",
		step(t, "a", 3, 4, "1", takes(t, "1", "", "r1", a, a)),
		step(t, "b", 0, 1, "2", takes(t, "2", "", "q1", b, b)),
		step(t, "a", 4, 5, "1", takes(t, "1", "r1", "r2", a, a)),
		step(t, "c", 0, 1, "2", takes(t, "2", "q1", "q2", c, b)),
		step(t, "d", 0, 1, "1", takes(t, "1", "r2", "r3", c, c)))
	s.sourced("2 of b says B")
	s.owns("2", "q2: b=B [c=C]")
}

// The owner leaves, and a waiting claim gets the row in the same write.
func handedOver(t *testing.T, s *shelf) {
	a, b, c := claimOf(t, "a", 1, "A"), claimOf(t, "b", 2, "B"), claimOf(t, "c", 3, "C")
	s.settle("...",
		step(t, "a", 0, 1, "1", takes(t, "1", "", "r1", a, a)),
		step(t, "b", 0, 2, "1", takes(t, "1", "r1", "r2", b, a)),
		step(t, "c", 0, 3, "1", takes(t, "1", "r2", "r3", c, a)))
	s.sourced("1 of a says A")
	s.settle(".", step(t, "a", 1, 9, "", takes(t, "1", "r3", "r4", state.Claim{}, b)))
	s.sourced("1 of b says B")
	s.owns("1", "r4: b=B [c=C]")
	better := claimOf(t, "c", 4, "CC")
	s.settle(".", step(t, "c", 3, 4, "1", takes(t, "1", "r4", "r5", better, b)))
	s.settle(".", step(t, "b", 2, 3, "", takes(t, "1", "r5", "r6", state.Claim{}, state.Claim{})))
	s.sourced()
	s.owns("1", "r6: nobody [c=CC]")
	s.settle(".", step(t, "c", 4, 5, "1", takes(t, "1", "r6", "r7", better, better)))
	s.sourced("1 of c says CC")
}

// A row of another view, or of another pipeline's, is neither taken nor taken away.
func rowsOfOtherViews(t *testing.T, s *shelf) {
	a := claimOf(t, "a", 1, "A")
	plain := s.target
	plain.View = "plain"
	apply(t, s, plain, row(t, "r", "1", 1, "theirs"))
	s.owns("1", "foreign plain test")
	s.settle("L", step(t, "a", 0, 1, "1", takes(t, "1", "", "r1", a, a)))
	s.settle(".", step(t, "a", 0, 1, "2", takes(t, "2", "", "r1", a, a)))
	other := s.of(s.target)
	other.target.Pipeline = "others"
	other.owns("2", "foreign one test")
	other.settle("L", step(t, "a", 0, 1, "2", takes(t, "2", "", "r1", a, a)))
	rs, err := s.Apply(t.Context(), plain, []view.Mutation{row(t, "r", "2", 9, "theirs"), tombstone(t, "r", "2", 9)})
	for i := range rs {
		if foreign, ok := errors.AsType[*view.ForeignRowError](rs[i].Err); !ok || foreign.View != "one" || foreign.Pipeline != "test" {
			t.Errorf("a claimed row was written by the view plain: %+v", rs[i])
		}
	}
	if err != nil || len(rs) != 2 {
		t.Errorf("%d results, %v", len(rs), err)
	}
	s.sourced("1 of source says theirs", "2 of a says A")
}

func manyClaims(t *testing.T, s *shelf) {
	const n = 700
	var ws []state.ItemWrite
	var rows []state.Row
	var keys []item.Key
	for i := range n {
		key := item.Key(fmt.Sprintf("item%d", i))
		c := claimOf(t, key, i+1, "x")
		ws = append(ws, step(t, key, 0, i+1, fmt.Sprint(i), takes(t, fmt.Sprint(i), "", "r", c, c)))
		rows, keys = append(rows, ws[i].Guard.Row), append(keys, key)
	}
	s.settle(strings.Repeat(".", n), ws...)
	rcs, err := s.RowClaims(t.Context(), s.target, rows)
	need(t, err)
	gs, err := s.Guards(t.Context(), s.target, keys)
	need(t, err)
	for i := range n {
		if rcs[i].Row != rows[i] || rcs[i].Owner.Source != keys[i] || gs[i] != ws[i].Guard {
			t.Fatalf("item %d: %+v, %+v", i, rcs[i], gs[i])
		}
	}
}

func itemsOfTwoProcesses(t *testing.T, s *shelf) {
	a, b := claimOf(t, "a", 1, "A"), claimOf(t, "b", 1, "B")
	other := s.again()
	s.settle(".", step(t, "a", 0, 1, "1", takes(t, "1", "", "r1", a, a)))
	other.owns("1", "r1: a=A []")
	other.settle("L", step(t, "b", 0, 1, "1", takes(t, "1", "", "r1", b, b)))
	other.settle(".", step(t, "b", 0, 1, "1", takes(t, "1", "r1", "r2", b, a)))
	s.settle("L", step(t, "a", 1, 2, "", takes(t, "1", "r1", "", state.Claim{}, state.Claim{})))
	s.owns("1", "r2: a=A [b=B]")
}
