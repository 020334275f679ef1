package audit

import (
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
func (s *rowSink) Repair(ctx context.Context, known *ItemState, f Finding) (Outcome, error) {
	c := known.change()
	present, done, err := s.compareAgain(ctx, s, known, &f)
	if err != nil || done.Result != "" {
		return done, err
	}
	planned, err := s.plannedRows(c)
	if err != nil {
		return refusedRepair(err)
	}
	if planned.guarded || s.isGuarded(c, f.Kind) {
		return s.repairClaim(ctx, known, &present, planned.rows)
	}
	row := plannedRow{row: state.Row(f.Place), keyText: present.PlaceText} // the item does not plan it: a tombstone
	if i := slices.IndexFunc(planned.rows, func(p plannedRow) bool { return p.row == row.row }); i >= 0 {
		row = planned.rows[i]
	}
	return s.repairRow(ctx, known, &present, &row)
}

// errNoClaimTime refuses to make a claim under on_collision: last. Such a claim needs the time of the change. Only a
// saved record has it.
var errNoClaimTime = errs.New(
	"the item has no claim on the row, and with on_collision: last, no item of the table shows when it claimed the row: give the sink another name and a place of its own, and fill it from an archive of all changes (tablewake backfill --archive)")

// errOtherItem refuses to replace the row of another item in a view with unique. The key columns of such a view should
// identify the item.
var errOtherItem = errs.New(
	"another item has the row, though the names in its key are to identify the item (unique): change one of the two; its row is repaired with that item")

// repairRow writes a row that guards itself.
func (s *rowSink) repairRow(ctx context.Context, known *ItemState, present *Finding, p *plannedRow) (Outcome, error) {
	c := known.change()
	release, err := s.repairQueue.Wait(ctx, p.row)
	defer release()
	if err != nil {
		return Outcome{}, err
	}
	storedRows, err := s.readRows(ctx, []plannedRow{*p})
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	stored := storedRows[0]
	isLive := stored.Exists && !stored.Tombstone
	isOfOtherItem := isLive && c != nil && stored.Source != c.Key
	switch {
	case stored.Version != present.Version:
		return Outcome{Result: ChangedMeanwhile}, nil
	case stored.Exists && !s.isOwn(&stored):
		return refusedRepair(errForeign)
	case isOfOtherItem && s.target.RefuseOtherItem:
		return refusedRepair(errOtherItem)
	}

	mutation, err := s.rowMutation(known, p, &stored)
	if err != nil {
		return Outcome{}, err
	}
	writeText := "tombstone row " + p.keyText
	if p.expected {
		writeText = "put row " + p.keyText
	}
	repairer, err := storeAs[view.Repairer](s.store, "repair rows")
	if err != nil {
		return Outcome{}, err
	}
	if s.dryRun {
		return Outcome{Result: Repaired, WriteText: writeText}, nil
	}
	r, err := singleResult(repairer.RepairRows(ctx, s.target, []view.RowRepair{{Expected: stored, Next: mutation}}))
	return s.outcome(r, err, writeText)
}

// rowMutation returns the mutation that replaces a stored row by the planned row, or by a tombstone if none is
// expected. known is nil if the item is unknown.
func (s *rowSink) rowMutation(known *ItemState, p *plannedRow, stored *view.StoredRow) (m view.Mutation, err error) {
	m = view.Mutation{Source: stored.Source, Version: known.repairVersion(stored.Version), Tombstone: !p.expected}
	if known != nil {
		m.Source = known.Change.Key
	}
	if p.expected {
		m.Attributes = s.keepUnstableColumns(p.columns, stored.Item.Get)
	}
	m.PK, m.SK, err = p.row.Decode()
	return m, err
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

// repairClaim writes the guard of an item, its claim and the row that it claims. If the item had another row, the next
// waiting claim gets that row.
func (s *rowSink) repairClaim(
	ctx context.Context, known *ItemState, present *Finding, rows []plannedRow,
) (Outcome, error) {
	c := known.change()
	items, err := storeAs[view.ItemStore](s.store, "write the guards of items")
	if err != nil {
		return Outcome{}, err
	}
	op, writeText := s.plannedClaim(c, rows)
	var strayRow state.Row // the row that the item should leave; "" if there is none
	if present.Kind != Guard && present.Verdict == Extra {
		strayRow = rowOf(Entry{Kind: present.Kind, Place: present.Place})
		writeText += ", leave row " + present.PlaceText
	}

	guards, err := items.Guards(ctx, s.target.State(), []item.Key{c.Key})
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	guard := guards[0]
	if guard.Version != present.guardVersion() {
		return Outcome{Result: ChangedMeanwhile}, nil
	}

	release, err := s.repairQueue.Wait(ctx, guard.Row, op.Row, strayRow)
	defer release()
	if err != nil {
		return Outcome{}, err
	}
	stored, err := s.readClaimedRows(ctx, items, guard.Row, op.Row, strayRow)
	if err != nil {
		return s.outcome(view.Result{}, err, "")
	}
	if done, err := s.checkClaim(present, op, stored); err != nil || done.Result != "" {
		return done, err
	}
	if err := s.keepStoredValues(known, op, stored); err != nil {
		return refusedRepair(err)
	}
	op.Claim.Version = s.claimVersion(known, op, guard, stored)
	if s.dryRun {
		return Outcome{Result: Repaired, WriteText: writeText}, nil
	}
	results, err := items.WriteItems(ctx, s.target, op.Repair(guard, stored.claims, strayRow, s.collision))
	failed := slices.IndexFunc(results, func(r view.Result) bool { return r != view.Result{} })
	if err != nil || failed < 0 {
		return s.outcome(view.Result{}, err, writeText)
	}
	return s.outcome(results[failed], nil, writeText)
}

// claimVersion returns the version of the guard and the claim that a repair writes. It is newer than the guard and than
// the item's stored claims and rows, so that older changes stay refused.
func (s *rowSink) claimVersion(
	known *ItemState, op *view.ClaimOp, guard state.Guard, stored claimedRows,
) record.Version {
	newest := stored.newestVersion(known.Change.Key)
	if guard.Version.Compare(newest) > 0 {
		newest = guard.Version
	}
	// KeepLast compares the times of claims, then their versions. A claim keeps its stored time. So it keeps its place
	// only if its version comes right after the stored one.
	keepsTime := op.Row != "" && claimOf(stored.claims[op.Row], op.Claim.Source) != nil
	if s.collision == view.KeepLast && keepsTime {
		return newest.NextRepair()
	}
	return known.repairVersion(newest)
}

// checkClaim returns the outcome of a claim that must not be written, because another sink wrote its row, or because
// the row of f has changed. Otherwise the Result is "".
func (s *rowSink) checkClaim(f *Finding, op *view.ClaimOp, stored claimedRows) (Outcome, error) {
	switch {
	case op.Row != "" && stored.claims[op.Row].Foreign != nil:
		return refusedRepair(errForeign)
	case f.Kind == Row && stored.rows[state.Row(f.Place)].Version != f.Version:
		return Outcome{Result: ChangedMeanwhile}, nil
	}
	return Outcome{}, nil
}

// guardVersion returns the version that the item's guard had when the finding was made.
func (f *Finding) guardVersion() record.Version {
	if f.Kind == Guard {
		return f.Version
	}
	return f.Guard
}

// keepStoredValues gives the claim of op the stored values of the unstable columns. The values come from the item's
// stored claim or, if there is no claim, from the item's stored row. keepStoredValues returns an error if a missing
// claim cannot be made.
func (s *rowSink) keepStoredValues(known *ItemState, op *view.ClaimOp, stored claimedRows) error {
	if op.Row == "" { // the item claims no row
		return nil
	}
	source := op.Claim.Source
	claim, row := claimOf(stored.claims[op.Row], source), stored.rows[op.Row]
	switch {
	case claim != nil:
		op.Claim.Attributes = s.keepUnstableColumns(op.Claim.Attributes,
			func(name string) (item.Value, bool) { return columnValue(claim.Attributes, name) })
	case s.collision == view.KeepLast && known.Evidence != LastRecord:
		return errNoClaimTime
	case row.Source == source:
		op.Claim.Attributes = s.keepUnstableColumns(op.Claim.Attributes, row.Item.Get)
	}
	return nil
}

// plannedClaim returns the claim that an item should have, and a text for people. If no row of rows is planned with a
// claim, the returned claim is on no row.
func (s *rowSink) plannedClaim(c *record.Change, rows []plannedRow) (op *view.ClaimOp, text string) {
	claim := state.Claim{Source: c.Key, Version: c.Version, Time: time.Unix(0, 0).UTC()}
	op, text = &view.ClaimOp{Target: &s.target, Claim: claim}, "claim no row"
	for i := range rows {
		if rows[i].claim != nil {
			planned := *rows[i].claim
			op, text = &planned, "claim row "+rows[i].keyText
		}
	}
	return op, text
}

// claimedRows are some stored rows and the claims on them, by the keys of the rows.
type claimedRows struct {
	claims map[state.Row]*view.RowClaims
	rows   map[state.Row]view.StoredRow
}

// newestVersion returns the newest version among an item's claims and rows; zero if the item has none.
func (r claimedRows) newestVersion(key item.Key) (newest record.Version) {
	for row, claims := range r.claims {
		if claim := claimOf(claims, key); claim != nil && claim.Version.Compare(newest) > 0 {
			newest = claim.Version
		}
		if st := r.rows[row]; st.Exists && st.Source == key && st.Version.Compare(newest) > 0 {
			newest = st.Version
		}
	}
	return newest
}

// readClaimedRows reads the rows with the given keys, and the claims on them. It skips the key "".
func (s *rowSink) readClaimedRows(
	ctx context.Context, items view.ItemStore, keys ...state.Row,
) (claimedRows, error) {
	slices.Sort(keys)
	keys = slices.DeleteFunc(slices.Compact(keys), func(row state.Row) bool { return row == "" })
	stored := claimedRows{make(map[state.Row]*view.RowClaims, len(keys)), make(map[state.Row]view.StoredRow, len(keys))}
	if len(keys) == 0 {
		return stored, nil
	}
	claims, err := items.RowClaims(ctx, s.target, keys)
	if err != nil {
		return claimedRows{}, err
	}
	planned := make([]plannedRow, len(keys))
	for i, row := range keys {
		stored.claims[row] = &claims[i]
		planned[i].row = row
	}
	rows, err := s.readRows(ctx, planned)
	if err != nil {
		return claimedRows{}, err
	}
	for i := range rows {
		stored.rows[keys[i]] = rows[i]
	}
	return stored, nil
}
