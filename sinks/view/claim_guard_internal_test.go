package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

func versionOf(t testing.TB, n int) record.Version {
	t.Helper()
	if n == 0 {
		return record.Version{}
	}
	v, err := record.ParseVersion(fmt.Sprintf("%010d%040d", 1767323045, n))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestCompareWithGuard checks every pair of a guard and a claim.
func TestCompareWithGuard(t *testing.T) {
	for _, c := range []struct {
		known int       // version of the guard; 0: no guard
		had   state.Row // row of the guard
		asks  state.Row
		idle  bool
		want  guardOutcome
	}{
		{known: 0, asks: "", idle: true, want: guardNotNeeded},
		{known: 0, asks: "", want: guardChanges}, // an earlier claim may still arrive
		{known: 0, asks: "r", want: guardChanges},

		{known: 4, had: "", asks: "", idle: true, want: guardNotNeeded},
		{known: 4, had: "", asks: "", want: guardChanges},
		{known: 4, had: "", asks: "r", want: guardChanges},
		{known: 4, had: "r", asks: "", idle: true, want: guardChanges}, // a change between the guard and this change was lost
		{known: 4, had: "r", asks: "", want: guardChanges},
		{known: 4, had: "r", asks: "r", want: guardChanges},
		{known: 4, had: "q", asks: "r", want: guardChanges},

		{known: 5, had: "", asks: "", idle: true, want: durableWithoutRow},
		{known: 5, had: "", asks: "", want: durableWithoutRow},
		{known: 5, had: "", asks: "r", want: durableWithoutRow}, // the item was backfilled twice
		{known: 5, had: "r", asks: "r", want: durableWithRow},
		{known: 5, had: "q", asks: "r", want: durableWithRow},
		{known: 5, had: "r", asks: "", idle: true, want: durableWithRow},

		{known: 6, had: "", asks: "", idle: true, want: guardIsNewer},
		{known: 6, had: "", asks: "r", want: guardIsNewer},
		{known: 6, had: "r", asks: "r", want: guardIsNewer},
		{known: 6, had: "q", asks: "", want: guardIsNewer},
	} {
		op := &ClaimOp{Row: c.asks, Claim: state.Claim{Source: "i", Version: versionOf(t, 5)}}
		if got := op.compareWithGuard(state.Guard{Version: versionOf(t, c.known), Row: c.had}, c.idle); got != c.want {
			t.Errorf("guard %d with %q, claim 5 of %q, idle %t: got %d, want %d", c.known, c.had, c.asks, c.idle, got, c.want)
		}
	}
	// A change of the same version replaces a void guard, unless no row can be made of the change this time either.
	for _, c := range []struct {
		err  error
		want guardOutcome
	}{
		{nil, guardChanges},
		{errs.New("no row"), durableWithoutRow},
	} {
		op := &ClaimOp{Row: "r", Claim: state.Claim{Source: "i", Version: versionOf(t, 5)}, rowAbsence: rowAbsence{changeErr: c.err}}
		if c.err != nil {
			op.Row = ""
		}
		guard := state.Guard{Version: versionOf(t, 5), Void: true}
		if got := op.compareWithGuard(guard, false); got != c.want {
			t.Errorf("void guard 5, claim 5 with the error %v: got %d, want %d", c.err, got, c.want)
		}
	}
	// After a repair, the change before it has the row that the repair wrote again, or is superseded.
	for row, want := range map[state.Row]guardOutcome{"r": durableWithRow, "": guardIsNewer} {
		op := &ClaimOp{Row: "r", Claim: state.Claim{Source: "i", Version: versionOf(t, 5)}}
		guard := state.Guard{Version: versionOf(t, 5).NextRepair(), Row: row}
		if got := op.compareWithGuard(guard, false); got != want {
			t.Errorf("a repaired guard with the row %q: got %d, want %d", row, got, want)
		}
	}
	// The version of a backfilled state is 0 if no stream is named. It is still a version.
	zero, err := record.ParseVersion(strings.Repeat("0", 50))
	if err != nil {
		t.Fatal(err)
	}
	op := &ClaimOp{Row: "r", Claim: state.Claim{Source: "i", Version: zero}}
	if got := op.compareWithGuard(state.Guard{}, false); got != guardChanges {
		t.Errorf("version 0 of an unknown item: got %d, want that it moves", got)
	}
	if got := op.compareWithGuard(state.Guard{Version: zero, Row: "r"}, false); got != durableWithRow {
		t.Errorf("version 0 again: got %d, want that it stands", got)
	}
}

// claimOf parses item@version. The time of the claim is a tenth of the version, in seconds.
func claimOf(t testing.TB, s string) state.Claim {
	t.Helper()
	if s == "" {
		return state.Claim{}
	}
	var n int
	image, digits, _ := strings.Cut(s, "@")
	if _, err := fmt.Sscan(digits, &n); err != nil {
		t.Fatal(err)
	}
	return state.Claim{Source: item.Key(image), Version: versionOf(t, n), Time: time.Unix(int64(n/10), 0)}
}

// rowClaimsOf parses the claims on a row: the owner, then the waiting claims.
func rowClaimsOf(t testing.TB, s string) *RowClaims {
	t.Helper()
	rc := &RowClaims{RowClaims: state.RowClaims{Row: "r", Revision: "was"}}
	for i, text := range strings.Fields(s) {
		if i == 0 {
			rc.Owner = claimOf(t, text)
		} else {
			rc.Waiting = append(rc.Waiting, claimOf(t, text))
		}
	}
	return rc
}

func showRowClaims(s *RowClaims) string {
	show := func(c state.Claim) string {
		text := c.Version.String()
		return string(c.Source) + "@" + strings.TrimLeft(text[10:], "0")
	}
	if s.Owner.Source == "" {
		return ""
	}
	var waiting []string
	for _, c := range s.Waiting {
		waiting = append(waiting, show(c))
	}
	slices.Sort(waiting)
	return strings.Join(append([]string{show(s.Owner)}, waiting...), " ")
}

// TestRowClaims checks the claims on a row after a claim (item@version) is put, or after the claim of an item is
// dropped.
func TestRowClaims(t *testing.T) {
	for _, c := range []struct {
		rc, put, drop string
		first, last   string // want under dead_letter and keep_first, and under last
	}{
		{rc: "", put: "a@10", first: "a@10", last: "a@10"},
		{rc: "a@10", put: "a@20", first: "a@20", last: "a@20"},
		{rc: "a@10", put: "b@20", first: "a@10 b@20", last: "b@20 a@10"},
		{rc: "a@20", put: "b@10", first: "a@20 b@10", last: "a@20 b@10"},
		{rc: "a@10", put: "b@10", first: "a@10 b@10", last: "b@10 a@10"}, // ordered by key
		{rc: "b@10", put: "a@10", first: "a@10 b@10", last: "b@10 a@10"},
		{rc: "a@11", put: "b@12", first: "a@11 b@12", last: "b@12 a@11"}, // ordered by version
		{rc: "c@30 a@10", put: "a@20", first: "a@20 c@30", last: "c@30 a@20"},
		{rc: "c@30 a@10", put: "a@40", first: "a@40 c@30", last: "a@40 c@30"},
		{rc: "c@30 a@10 b@20", put: "a@40", first: "a@40 b@20 c@30", last: "a@40 b@20 c@30"},
		{rc: "c@30 a@10 b@20", put: "c@15", first: "a@10 b@20 c@15", last: "b@20 a@10 c@15"}, // the clock may step back
		{rc: "a@10 b@40", put: "c@30", first: "a@10 b@40 c@30", last: "b@40 a@10 c@30"},      // stored under another rule

		{rc: "a@10", drop: "a", first: "", last: ""},
		{rc: "a@10", drop: "b", first: "a@10", last: "a@10"},
		{rc: "", drop: "a", first: "", last: ""},
		{rc: "a@10 b@20", drop: "b", first: "a@10", last: "a@10"},
		{rc: "a@10 b@20", drop: "a", first: "b@20", last: "b@20"},
		{rc: "a@10 c@30 b@20 d@40", drop: "a", first: "b@20 c@30 d@40", last: "d@40 b@20 c@30"},
		{rc: "a@10 c@20 b@20", drop: "a", first: "b@20 c@20", last: "c@20 b@20"},
		{rc: "a@10 c@21 b@22", drop: "a", first: "b@22 c@21", last: "b@22 c@21"},
	} {
		for rule, want := range map[Collision]string{DeadLetterCollision: c.first, KeepFirst: c.first, KeepLast: c.last} {
			s := rowClaimsOf(t, c.rc)
			if c.put != "" {
				s.putClaim(claimOf(t, c.put), rule)
			} else {
				s.dropClaim(item.Key(c.drop), rule)
			}
			if got := showRowClaims(s); got != want {
				t.Errorf("%s: {%s}, put %q, drop %q: got {%s}, want {%s}", rule, c.rc, c.put, c.drop, got, want)
			}
		}
	}
}

// TestMove checks the writes of a move: to the guard, to the row that the item leaves, and to the row that it claims.
func TestMove(t *testing.T) {
	const others = "a@10 y@20"
	for _, c := range []struct {
		name      string
		had, asks state.Row
		left      string // claims on the row that the item leaves, before the move
		taken     string // claims on the row that the item claims, before the move
		want      []string
	}{
		{"it comes", "", "to", "", "", []string{"to: holds i@50, claims i@50"}},
		{"it comes to a row that is taken", "", "to", "", others, []string{"to: holds a@10, claims i@50"}},
		{"it goes", "from", "", "i@40", "", []string{"from: free"}},
		{"it goes and another follows", "from", "", "i@40 x@10 y@20", "", []string{"from: holds x@10"}},
		{"it gives up waiting", "from", "", "x@10 i@40", "", []string{"from: holds x@10"}},
		{"it stays", "to", "to", "", "i@40 x@10", []string{"to: holds i@50, claims i@50"}},
		{"it waits on", "to", "to", "", "a@10 i@40", []string{"to: holds a@10, claims i@50"}},
		{"it takes a row over", "", "to", "", "x@10 y@20", []string{"to: holds i@50, claims i@50"}},
		{"it moves", "from", "to", "i@40", "", []string{"from: free", "to: holds i@50, claims i@50"}},
		{"it moves to a row that is taken", "from", "to", "i@40 x@10", "a@20", []string{"from: holds x@10", "to: holds a@20, claims i@50"}},
		{"nothing but the version", "", "", "", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			rcs := map[state.Row]*RowClaims{"from": rowClaimsOf(t, c.left), "to": rowClaimsOf(t, c.taken)}
			rcs["from"].Row, rcs["to"].Row = "from", "to"
			op := &ClaimOp{Row: c.asks, Claim: claimOf(t, "i@50")}
			w := op.applyClaim(state.Guard{Version: versionOf(t, 40), Row: c.had}, rcs, KeepFirst)
			if w.Source != "i" || w.Expected != versionOf(t, 40) || w.Guard != (state.Guard{Version: versionOf(t, 50), Row: c.asks}) {
				t.Errorf("the guard: %+v", w)
			}
			var got []string
			for _, sw := range w.Rows {
				text := string(sw.Row) + ": free"
				if sw.Owner.Source != "" {
					text = string(sw.Row) + ": holds " + showRowClaims(&RowClaims{RowClaims: state.RowClaims{Owner: sw.Owner}})
				}
				if sw.Claim.Source != "" {
					text += ", claims " + showRowClaims(&RowClaims{RowClaims: state.RowClaims{Owner: sw.Claim}})
				}
				got = append(got, text)
				if sw.Expected != "was" || sw.Revision == sw.Expected || (sw.Revision == "") != (sw.Owner.Source == "") || rcs[sw.Row].Revision != sw.Revision {
					t.Errorf("%s: revision %q, and %q before", sw.Row, sw.Revision, sw.Expected)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
