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
	items, err := storeAs[view.ItemStore](s.store, "read the guards of items")
	if err != nil {
		return nil, err
	}
	guards, err := items.Guards(ctx, s.target.State(), []item.Key{c.Key})
	if err != nil {
		return nil, err
	}
	guard := guards[0]
	findings := []Finding{s.compareGuard(c, guard, rows)} // claims and owners follow, and then rows

	rows = s.withRow(c, rows, guard.Row)
	if len(rows) == 0 {
		return findings, nil
	}
	claims, err := s.readClaims(ctx, items, rowKeys(rows))
	if err != nil {
		return nil, err
	}
	rowFindings, err := s.compareRows(ctx, c, rows)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		f := &rowFindings[i]
		f.Guard = guard.Version
		if rc := claims[i]; rc != nil {
			f.Revision = rc.Revision
			s.adjustToClaims(c, f, rc)
			findings = append(findings, s.compareClaimAndOwner(c, &rows[i], rc, guard.Version)...)
		}
		f.markStale(guard.Version)
	}
	return append(findings, rowFindings...), nil
}

// readClaims returns the claims on each row. They are nil for a row that was written to another output of the sink: the
// caller then compares only the row.
func (s *rowSink) readClaims(ctx context.Context, items view.ItemStore, rows []state.Row) ([]*view.RowClaims, error) {
	claims := make([]*view.RowClaims, len(rows))
	read, err := items.RowClaims(ctx, s.target, rows)
	_, hasOtherOutput := errors.AsType[*state.LostError](err)
	switch {
	case hasOtherOutput && len(rows) == 1:
		return claims, nil
	case hasOtherOutput: // each row is read alone, because the error does not name the row
		for i := range rows {
			one, err := s.readClaims(ctx, items, rows[i:i+1])
			if err != nil {
				return nil, err
			}
			claims[i] = one[0]
		}
		return claims, nil
	case err != nil:
		return nil, err
	}
	for i := range read {
		claims[i] = &read[i]
	}
	return claims, nil
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
func (s *rowSink) compareGuard(c *record.Change, guard state.Guard, rows []plannedRow) Finding {
	var want state.Row // "" if the item should claim no row
	for i := range rows {
		if rows[i].expected {
			want = rows[i].row
		}
	}
	f := Finding{Kind: Guard, Place: string(c.Key), PlaceText: s.itemText(c), Expected: want != "",
		Version: guard.Version}

	hasGuard := !guard.Version.IsZero()
	switch {
	case !hasGuard:
		f.FoundText = "nothing"
	case guard.Row == "":
		f.FoundText = "asks for no row"
	case guard.Row == want:
		f.FoundText = "asks for that row"
	default:
		f.FoundText = "asks for " + s.rowText(c, s.target.Table, guard.Row)
	}

	switch {
	case !hasGuard && want != "":
		f.Verdict = Missing
	case guard.Row == want: // also if there is no guard
		f.Verdict = Equal
	case want == "":
		f.Verdict = Extra
	default:
		f.Verdict = Wrong
	}
	return f
}

// adjustToClaims adjusts the finding of a row, if the item should claim the row. All claims on the row together decide
// which item owns it: the row may rightly belong to another item.
func (s *rowSink) adjustToClaims(c *record.Change, f *Finding, rc *view.RowClaims) {
	if !f.Expected {
		return
	}
	for i := range rc.Waiting {
		f.Waiting = append(f.Waiting, WaitingClaim{s.otherItemText(c, rc.Waiting[i].Source), rc.Waiting[i].Version})
	}
	first := s.firstClaim(rc)
	isOfOtherItem := first.Source != "" && first.Source != c.Key
	if !isOfOtherItem || s.isFirstOnceMade(c.Key, rc, first) {
		return
	}
	switch { // the row should belong to the other item
	case f.Owner == first.Source:
		f.Verdict = Waiting
	case f.Owner == "" && f.Verdict != Missing:
		f.Verdict, f.Reason = Wrong, "the claim of the item "+s.otherItemText(c, first.Source)+" comes first"
	}
}

// isFirstOnceMade reports whether the claim of an item is missing and would come before first, the first of the claims.
// With on_collision last it returns false, because the time of the missing claim is unknown.
func (s *rowSink) isFirstOnceMade(key item.Key, rc *view.RowClaims, first *state.Claim) bool {
	if s.collision == view.KeepLast || claimOf(rc, key) != nil {
		return false
	}
	return view.ComesBefore(&state.Claim{Source: key}, first, s.collision)
}

// firstClaim returns the claim that should own a row; the zero Claim if there is none.
func (s *rowSink) firstClaim(rc *view.RowClaims) *state.Claim {
	first := &rc.Owner
	for i := range rc.Waiting {
		waiting := &rc.Waiting[i]
		if first.Source == "" || view.ComesBefore(waiting, first, s.collision) {
			first = waiting
		}
	}
	return first
}

// compareClaimAndOwner returns the findings of an item's claim on a row and of the owner of the row. It leaves out an
// equal finding of an entry that is not planned.
func (s *rowSink) compareClaimAndOwner(
	c *record.Change, p *plannedRow, rc *view.RowClaims, guard record.Version,
) []Finding {
	findings := []Finding{s.compareClaim(c, p, rc, guard), s.compareOwner(c, p, rc, guard)}
	return slices.DeleteFunc(findings, func(f Finding) bool { return f.Verdict == Equal && !f.Expected })
}

// compareClaim compares the claim of an item on a row. The verdict is Equal if there is no claim and none is planned.
func (s *rowSink) compareClaim(c *record.Change, p *plannedRow, rc *view.RowClaims, guard record.Version) Finding {
	f := Finding{Kind: Claim, Place: claimPlace(p.row, c.Key), PlaceText: p.keyText, Expected: p.expected, Guard: guard,
		Verdict: Equal, FoundText: "nothing"}
	claim := claimOf(rc, c.Key)
	if claim != nil {
		f.Version, f.FoundText = claim.Version, "a claim"
	}
	switch {
	case claim != nil && p.expected:
		f.setDifferences(s.differingClaimAttributes(claim.Attributes, p.columns), "")
	case claim != nil:
		f.Verdict = Extra
	case p.expected:
		f.Verdict = Missing
	}
	f.markStale(guard)
	return f
}

// compareOwner compares the stored owner of a row with the claims on the row. The owner should be the item whose claim
// comes first. If the item's own claim is missing, compareClaim reports that, and compareOwner does not also report the
// owner.
func (s *rowSink) compareOwner(c *record.Change, p *plannedRow, rc *view.RowClaims, guard record.Version) Finding {
	owner, first := rc.Owner.Source, s.firstClaim(rc).Source
	f := Finding{Kind: Owner, Place: string(p.row), PlaceText: p.keyText, Guard: guard, Revision: rc.Revision,
		Expected: p.expected && first == c.Key, FoundText: "no owner that claims the row"}
	if owner != "" {
		f.FoundText = "the item " + s.otherItemText(c, owner) + " has the row"
	}

	isStoredWithoutClaims := rc.Revision != "" && first == ""
	switch {
	case isStoredWithoutClaims && !p.expected:
		f.Verdict = Extra
	case !f.Expected || owner == c.Key:
		f.Verdict = Equal
	case owner == "":
		f.Verdict = Missing
	default:
		f.Verdict = Wrong
	}
	return f
}

// differingClaimAttributes returns the names of the attributes in which a claim differs from the planned claim.
func (s *rowSink) differingClaimAttributes(have, want []state.Column) []string {
	var names []string
	for _, column := range slices.Concat(have, want) {
		storedValue, _ := columnValue(have, column.Name)
		plannedValue, _ := columnValue(want, column.Name)
		if s.compares(column.Name) && !storedValue.Equal(plannedValue) {
			names = append(names, column.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
