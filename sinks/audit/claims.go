package audit

import (
	"context"
	"errors"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// compareGuardAndClaims compares the guard of an item and its claims on rows with the plan. It also compares the row
// that the stored guard names.
func (s *rowSink) compareGuardAndClaims(ctx context.Context, c *record.Change, rows []plannedRow) ([]Finding, error) {
	items, err := storeAs[view.ItemStore](&s.base, s.store, "read the guards of items")
	if err != nil {
		return nil, err
	}
	guards, err := items.Guards(ctx, s.viewTarget.State(), []item.Key{c.Key})
	if err != nil {
		return nil, err
	}
	g := guards[0]
	fs := []Finding{s.compareGuard(c, g, rows)}
	rows = s.withRow(c, rows, g.Row)
	if len(rows) == 0 {
		return fs, nil
	}
	claims, known, err := s.rowClaims(ctx, items, rowKeys(rows))
	if err != nil {
		return nil, err
	}
	found, err := s.lookRows(ctx, c, rows)
	if err != nil {
		return nil, err
	}
	for i := range found {
		f := &found[i]
		if f.Revision = claims[i].Revision; f.Expected {
			s.correctByClaims(c, f, &claims[i])
		}
		f.Guard = g.Version
		f.markStale(g.Version)
		if !known[i] {
			continue
		}
		claim := s.compareClaim(c, &rows[i], &claims[i], g.Version)
		owner := s.compareOwner(c, &rows[i], &claims[i], g.Version)
		for _, f := range []Finding{claim, owner} {
			if f.Expected || f.Verdict != Equal {
				fs = append(fs, f)
			}
		}
	}
	return append(fs, found...), nil
}

// rowClaims reads the claims on rows. For a row that was written to another output of the sink, known is false and its
// claims are empty. The caller then compares only the row.
func (s *rowSink) rowClaims(
	ctx context.Context, items view.ItemStore, rows []state.Row,
) (claims []view.RowClaims, known []bool, err error) {
	claims, err = items.RowClaims(ctx, s.viewTarget, rows)
	known = slices.Repeat([]bool{err == nil}, len(rows))
	if _, lost := errors.AsType[*state.LostError](err); !lost {
		return claims, known, err
	}
	claims = make([]view.RowClaims, len(rows))
	for i := range rows {
		one, err := items.RowClaims(ctx, s.viewTarget, rows[i:i+1])
		if _, lost := errors.AsType[*state.LostError](err); lost {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		claims[i], known[i] = one[0], true
	}
	return claims, known, nil
}

// claimOf returns the claim of an item; nil if it has none.
func claimOf(rc *view.RowClaims, key item.Key) *state.Claim {
	if rc.Owner.Source == key {
		return &rc.Owner
	}
	i := slices.IndexFunc(rc.Waiting, func(w state.Claim) bool { return w.Source == key })
	if i < 0 {
		return nil
	}
	return &rc.Waiting[i]
}

// columnValue returns the value of a column. The bool is false if columns does not have it.
func columnValue(columns []state.Column, name string) (item.Value, bool) {
	for i := range columns {
		if columns[i].Name == name {
			return columns[i].Value, true
		}
	}
	return item.Value{}, false
}

// compareGuard compares the row that the guard of an item names with the row that the item should claim.
func (s *rowSink) compareGuard(c *record.Change, g state.Guard, rows []plannedRow) Finding {
	var want state.Row
	for i := range rows {
		if rows[i].expected {
			want = rows[i].row
		}
	}
	f := Finding{Kind: Guard, Place: string(c.Key), PlaceText: s.itemText(c), Expected: want != "", Version: g.Version,
		Verdict: Wrong}
	switch {
	case g.Version.IsZero() && want == "":
		f.Verdict, f.FoundText = Equal, "nothing"
	case g.Version.IsZero():
		f.Verdict, f.FoundText = Missing, "nothing"
	case g.Row == "" && want == "":
		f.Verdict, f.FoundText = Equal, "asks for no row"
	case g.Row == want:
		f.Verdict, f.FoundText = Equal, "asks for that row"
	case g.Row == "":
		f.FoundText = "asks for no row"
	default:
		f.FoundText = "asks for " + s.rowText(c, s.viewTarget.Table, g.Row)
		if want == "" {
			f.Verdict = Extra
		}
	}
	return f
}

// correctByClaims corrects the finding of a row that the item should claim. All claims on the row together decide which
// item owns it: the row may rightly belong to another item.
func (s *rowSink) correctByClaims(c *record.Change, f *Finding, rc *view.RowClaims) {
	for i := range rc.Waiting {
		f.Waiting = append(f.Waiting, WaitingClaim{s.otherItemText(c, rc.Waiting[i].Source), rc.Waiting[i].Version})
	}
	missing, first := state.Claim{Source: c.Key}, s.firstClaim(rc)
	// isFirst assumes that the item has the claim that it should have.
	isFirst := first.Source == c.Key || claimOf(rc, c.Key) == nil && s.collision != view.KeepLast &&
		view.ComesBefore(&missing, first, s.collision)
	switch {
	case first.Source == "" || isFirst:
	case f.Owner == first.Source:
		f.Verdict = Waiting
	case f.Owner == "" && f.Verdict != Missing:
		f.Verdict, f.Reason = Wrong, "the claim of the item "+s.otherItemText(c, first.Source)+" comes first"
	}
}

// firstClaim returns the claim that should own a row; the zero Claim if there is none.
func (s *rowSink) firstClaim(rc *view.RowClaims) *state.Claim {
	first := &rc.Owner
	for i := range rc.Waiting {
		if w := &rc.Waiting[i]; first.Source == "" || view.ComesBefore(w, first, s.collision) {
			first = w
		}
	}
	return first
}

// compareClaim compares the claim of an item on a row. The verdict is Equal if there is no claim and none is planned.
func (s *rowSink) compareClaim(c *record.Change, p *plannedRow, rc *view.RowClaims, guard record.Version) Finding {
	f := Finding{Kind: Claim, Place: claimPlace(p.row, c.Key), PlaceText: p.where, Expected: p.expected, Guard: guard,
		Verdict: Equal, FoundText: "nothing"}
	claim := claimOf(rc, c.Key)
	switch {
	case claim == nil && p.expected:
		f.Verdict = Missing
	case claim == nil:
	case !p.expected:
		f.Verdict, f.Version, f.FoundText = Extra, claim.Version, "a claim"
	default:
		f.Version, f.FoundText = claim.Version, "a claim"
		f.setDifferences(s.differingClaimAttributes(claim.Attributes, p.columns), "")
	}
	f.markStale(guard)
	return f
}

// compareOwner compares the stored owner of a row with the claims on the row. The owner should be the item whose claim
// comes first. If the claim of the item itself is missing, compareOwner does not report the owner, too.
func (s *rowSink) compareOwner(c *record.Change, p *plannedRow, rc *view.RowClaims, guard record.Version) Finding {
	f := Finding{Kind: Owner, Place: string(p.row), PlaceText: p.where, Guard: guard, Revision: rc.Revision,
		Verdict: Equal, FoundText: "no owner that claims the row"}
	if rc.Owner.Source != "" {
		f.FoundText = "the item " + s.otherItemText(c, rc.Owner.Source) + " has the row"
	}
	first := s.firstClaim(rc)
	f.Expected = p.expected && first.Source == c.Key
	switch {
	case first.Source == "" && rc.Revision != "" && !p.expected:
		f.Verdict = Extra
	case !f.Expected:
	case rc.Owner.Source == "":
		f.Verdict = Missing
	case rc.Owner.Source != c.Key:
		f.Verdict = Wrong
	}
	return f
}

// differingClaimAttributes returns the names of the attributes in which a claim differs from the planned claim.
func (s *rowSink) differingClaimAttributes(have, want []state.Column) []string {
	var names []string
	value := func(cs []state.Column, name string) item.Value {
		v, _ := columnValue(cs, name)
		return v
	}
	for _, cs := range [][]state.Column{have, want} {
		for i := range cs {
			name := cs[i].Name
			if s.compares(name) && !value(have, name).Equal(value(want, name)) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
