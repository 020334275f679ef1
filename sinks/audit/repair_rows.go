package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// Repair writes the row of a finding. If rows are guarded by item, it writes the guard, the claim and the row of the
// item.
func (s *rowSink) Repair(ctx context.Context, c *record.Change, f Finding) (Outcome, error) {
	now, done, err := s.lookAgain(ctx, s, c, &f)
	if err != nil || done.Result != "" {
		return done, err
	}
	rows, guarded, err := s.rowsOf(c)
	if err != nil {
		return refusedRepair(err)
	}
	if guarded || s.isGuarded(c, f.Kind) {
		return s.repairClaim(ctx, c, &now, rows)
	}
	p := plannedRow{row: state.Row(f.Place), where: now.PlaceText}
	for i := range rows {
		if rows[i].row == p.row {
			p = rows[i]
		}
	}
	return s.repairRow(ctx, c, &now, &p)
}

// errNoClaimTime refuses to make a claim under on_collision: last. Such a claim needs the time of the change, which is
// unknown.
var errNoClaimTime = errs.New(
	"the item has no claim on the row, and with on_collision: last no item tells when it came to claim it: replay the archive, or fill the sink anew")

// errOtherItem refuses to replace the row of another item in a view with unique, whose key columns should identify the
// item.
var errOtherItem = errs.New(
	"another item has the row, though the names in its key are to identify the item (unique): change one of the two; its row is repaired with that item")

// repairRow writes a row that guards itself.
func (s *rowSink) repairRow(ctx context.Context, c *record.Change, f *Finding, p *plannedRow) (Outcome, error) {
	release, err := s.repairQueue.Wait(ctx, p.row)
	defer release()
	if err != nil {
		return Outcome{}, err
	}
	stored, err := s.readRows(ctx, []plannedRow{*p})
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	st := stored[0]
	switch {
	case st.Version != f.Version:
		return Outcome{Result: ChangedMeanwhile}, nil
	case st.Exists && !s.isOwn(&st):
		return refusedRepair(errForeign)
	case st.Exists && !st.Tombstone && c != nil && st.Source != c.Key && s.viewTarget.RefuseOtherItem:
		return refusedRepair(errOtherItem)
	}
	m := view.Mutation{Source: st.Source, Version: st.Version, Tombstone: !p.expected}
	if m.PK, m.SK, err = p.row.Decode(); err != nil {
		return Outcome{}, err
	}
	if c != nil {
		m.Source = c.Key
		if !st.Exists {
			m.Version = c.Version
		}
	}
	wrote := "tombstone row " + p.where
	if p.expected {
		m.Attributes = s.keepUnstableColumns(p.columns, st.Item.Get)
		wrote = "put row " + p.where
	}
	repairer, err := storeAs[view.Repairer](&s.base, s.store, "repair rows")
	if err != nil {
		return Outcome{}, err
	}
	if s.dryRun {
		return Outcome{Result: Repaired, WriteText: wrote}, nil
	}
	r, err := onlyOne(repairer.RepairRows(ctx, s.viewTarget, []view.RowRepair{{Expected: st, Next: m}}))
	return s.outcome(r, err, wrote)
}

// keepUnstableColumns returns the planned columns, but with the stored values of the columns that do not depend on the
// item alone. Such a column may need the time of the change, and the snapshot of an item has no time.
func (s *rowSink) keepUnstableColumns(
	columns []state.Column, stored func(name string) (item.Value, bool),
) []state.Column {
	columns = slices.Clone(columns)
	for _, name := range s.unstableColumns {
		v, ok := stored(name)
		if !ok {
			continue
		}
		columns = slices.DeleteFunc(columns, func(c state.Column) bool { return c.Name == name })
		columns = append(columns, state.Column{Name: name, Value: v})
	}
	return columns
}

// repairClaim writes the guard of an item, its claim and the row that it claims. If the item loses another row, that
// row goes to the next claim.
func (s *rowSink) repairClaim(ctx context.Context, c *record.Change, f *Finding, rows []plannedRow) (Outcome, error) {
	items, err := storeAs[view.ItemStore](&s.base, s.store, "write the guards of items")
	if err != nil {
		return Outcome{}, err
	}
	op, wrote := s.plannedClaim(c, rows)
	var extra state.Row
	if f.Kind != Guard && f.Verdict == Extra {
		extra = rowOf(Entry{Kind: f.Kind, Place: f.Place})
		wrote += ", leave row " + f.PlaceText
	}
	guards, err := items.Guards(ctx, s.viewTarget.State(), []item.Key{c.Key})
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	g, known := guards[0], f.Guard
	if f.Kind == Guard {
		known = f.Version
	}
	if g.Version != known {
		return Outcome{Result: ChangedMeanwhile}, nil
	}
	release, err := s.repairQueue.Wait(ctx, g.Row, op.Row, extra)
	defer release()
	if err != nil {
		return Outcome{}, err
	}
	claims, stored, err := s.claimsOn(ctx, items, g.Row, op.Row, extra)
	if err != nil {
		return s.outcome(view.Result{}, err, "")
	}
	rc, st := claims[op.Row], stored[op.Row] // rc is nil if the item claims no row
	var own *state.Claim
	if rc != nil {
		own = claimOf(rc, c.Key)
	}
	switch {
	case rc != nil && rc.Foreign != nil:
		return refusedRepair(errForeign)
	case f.Kind == Row && stored[state.Row(f.Place)].Version != f.Version:
		return Outcome{Result: ChangedMeanwhile}, nil
	case rc != nil && own == nil && s.collision == view.KeepLast:
		return refusedRepair(errNoClaimTime)
	case own != nil:
		op.Claim.Attributes = s.keepUnstableColumns(op.Claim.Attributes,
			func(name string) (item.Value, bool) { return columnValue(own.Attributes, name) })
	case rc != nil && st.Source == c.Key:
		op.Claim.Attributes = s.keepUnstableColumns(op.Claim.Attributes, st.Item.Get)
	}
	if g.Version.IsZero() { // changes older than the present rows stay refused
		op.Claim.Version = cmp.Or(newestWritten(c.Key, claims, stored), c.Version)
	}
	if s.dryRun {
		return Outcome{Result: Repaired, WriteText: wrote}, nil
	}
	rs, err := items.WriteItems(ctx, s.viewTarget, op.Repair(g, claims, extra, s.collision))
	failed := slices.IndexFunc(rs, func(r view.Result) bool { return r != view.Result{} })
	if err != nil || failed < 0 {
		return s.outcome(view.Result{}, err, wrote)
	}
	return s.outcome(rs[failed], nil, wrote)
}

// plannedClaim returns the claim that an item should have, and a text for people. The claim is on no row if rows has
// none for the item.
func (s *rowSink) plannedClaim(c *record.Change, rows []plannedRow) (op *view.ClaimOp, text string) {
	claim := state.Claim{Source: c.Key, Version: c.Version, Time: time.Unix(0, 0).UTC()}
	op, text = &view.ClaimOp{Target: &s.viewTarget, Claim: claim}, "claim no row"
	for i := range rows {
		if rows[i].claim != nil {
			planned := *rows[i].claim
			op, text = &planned, "claim row "+rows[i].where
		}
	}
	return op, text
}

// newestWritten returns the newest version among an item's claims and rows; zero if the item has none.
func newestWritten(
	key item.Key, claims map[state.Row]*view.RowClaims, stored map[state.Row]view.StoredRow,
) (newest record.Version) {
	for row, rc := range claims {
		if own := claimOf(rc, key); own != nil && own.Version.Compare(newest) > 0 {
			newest = own.Version
		}
		if st := stored[row]; st.Exists && st.Source == key && st.Version.Compare(newest) > 0 {
			newest = st.Version
		}
	}
	return newest
}

// claimsOn reads the rows and the claims on them. It skips the row "".
func (s *rowSink) claimsOn(
	ctx context.Context, items view.ItemStore, rows ...state.Row,
) (map[state.Row]*view.RowClaims, map[state.Row]view.StoredRow, error) {
	slices.Sort(rows)
	rows = slices.DeleteFunc(slices.Compact(rows), func(r state.Row) bool { return r == "" })
	claims, stored := make(map[state.Row]*view.RowClaims, len(rows)), make(map[state.Row]view.StoredRow, len(rows))
	if len(rows) == 0 {
		return claims, stored, nil
	}
	rcs, err := items.RowClaims(ctx, s.viewTarget, rows)
	if err != nil {
		return nil, nil, err
	}
	planned := make([]plannedRow, len(rows))
	for i, row := range rows {
		claims[row], planned[i].row = &rcs[i], row
	}
	sts, err := s.readRows(ctx, planned)
	for i := range sts {
		stored[rows[i]] = sts[i]
	}
	return claims, stored, err
}
