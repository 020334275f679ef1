package audit

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// itemRowsSink compares a view with for_each. It compares the contribution of an item, which lists the item's rows, and
// the rows. It finds an extra row through the contribution, or through the item's key in the row.
type itemRowsSink struct {
	*rowSink
	rows view.ItemRowsStore
}

var _ Sink = (*itemRowsSink)(nil)

func newItemRowsSink(b base, store view.Store) (*itemRowsSink, error) {
	s := &itemRowsSink{rowSink: newRowSink(b, store)}
	s.viewTarget.RefuseOtherItem = b.spec.View.Unique() != nil
	var err error
	s.rows, err = storeAs[view.ItemRowsStore](&s.base, store, "read which rows an item has")
	return s, err
}

// itemPlan has the writes that are planned for an item.
type itemPlan struct {
	op    *view.ItemRowsOp // nil if nothing is planned, because a filter drops the item
	rows  []plannedRow
	where map[state.Row]string // keys of the rows for people
}

// planItem returns the rows that an item should have.
func (s *itemRowsSink) planItem(c *record.Change) (itemPlan, error) {
	ops, err := s.opsOf(c)
	if err != nil {
		return itemPlan{}, err
	}
	return s.planOf(ops)
}

// planOf returns the rows of planned ops.
func (s *itemRowsSink) planOf(ops []pipeline.Op) (p itemPlan, err error) {
	p.where = make(map[state.Row]string)
	for _, o := range ops {
		op, ok := o.(*view.ItemRowsOp)
		if !ok {
			continue
		}
		if err := op.Err(); err != nil {
			return p, err
		}
		p.op = op
		for _, r := range op.Rows {
			p.rows = append(p.rows, plannedRow{row: r.Row, where: r.KeyText(), expected: true, columns: r.Attributes})
			p.where[r.Row] = r.KeyText()
		}
	}
	return p, nil
}

// expectedShares returns the shares that the contribution should have.
func (p *itemPlan) expectedShares() []state.Share {
	if p.op == nil {
		return nil
	}
	return p.op.Shares()
}

// ExpectedEntries yields the rows of an item, and its contribution.
func (s *itemRowsSink) ExpectedEntries(c *record.Change, yield func(Entry)) error {
	if c.Removed() {
		return nil
	}
	return s.planner.withOps(c, func(ops []pipeline.Op) error {
		p, err := s.planOf(ops)
		if err != nil || len(p.rows) == 0 {
			return err
		}
		d := digesters.Get().(*digester)
		defer digesters.Put(d)
		for i := range p.rows {
			r := &p.rows[i]
			yield(Entry{Kind: Row, Place: string(r.row), Item: c.Key, Digest: s.plannedDigest(d, c.Key, r.columns)})
		}
		digest := d.contributionDigest(s.comparableShares(p.expectedShares()))
		yield(Entry{Kind: Contribution, Place: string(c.Key), Item: c.Key, Digest: digest})
		return nil
	})
}

// comparableShares returns shares in the order of their rows. If a column does not depend on the item alone, it leaves
// out the digests of the rows.
func (s *itemRowsSink) comparableShares(shares []state.Share) []state.Share {
	sorted := slices.SortedFunc(slices.Values(shares),
		func(a, b state.Share) int { return strings.Compare(string(a.Group), string(b.Group)) })
	if len(s.unstableColumns) > 0 {
		for i := range sorted {
			sorted[i].Values = nil
		}
	}
	return sorted
}

// StoredEntries yields the rows of the view, and the contributions of its items.
func (s *itemRowsSink) StoredEntries(ctx context.Context, l state.Listing) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if s.storedRows(ctx, l, yield) {
			s.eachContribution(ctx, s.store, s.viewTarget, l, yield, func(d *digester, c *state.ItemContribution) bool {
				return yieldContribution(c, d.contributionDigest(s.comparableShares(c.Shares)), yield)
			})
		}
	}
}

// Compare compares the contribution of an item, and its rows. It compares a row if it is planned, in the contribution,
// or in places.
func (s *itemRowsSink) Compare(ctx context.Context, c *record.Change, places []Entry) ([]Finding, error) {
	l, err := s.loadAndCompare(ctx, c, places)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	if l.planErr != nil {
		return s.unplannable(ctx, c, l.planErr)
	}
	return s.adjustVerdicts(ctx, c, l.findings)
}

// itemComparison is the plan of an item with the stored state.
type itemComparison struct {
	plan     itemPlan
	planErr  error
	have     state.Contribution
	rows     []plannedRow
	stored   []view.StoredRow // the stored rows, in the order of rows
	findings []Finding        // the finding of the contribution if the item is known, then one finding for each of rows
}

// loadAndCompare compares an item, which may be nil, with its contribution and its rows. It also compares the rows at
// places.
func (s *itemRowsSink) loadAndCompare(
	ctx context.Context, c *record.Change, places []Entry,
) (l itemComparison, err error) {
	if c != nil {
		l.plan, l.planErr = s.planItem(c)
		if l.planErr != nil || l.plan.op == nil && len(places) == 0 {
			return l, nil //nolint:nilerr // the caller handles planErr, which concerns only this item
		}
		found, err := s.rows.Contributions(ctx, s.viewTarget.State(), []item.Key{c.Key})
		if err != nil {
			return l, err
		}
		l.have = found[0]
		l.findings = append(l.findings, s.compareContribution(c, &l))
	}
	l.rows = slices.Clone(l.plan.rows)
	for _, share := range l.have.Shares {
		l.rows = s.withRow(c, l.rows, share.Group)
	}
	for _, p := range places {
		l.rows = s.withRow(c, l.rows, rowOf(p))
	}
	if l.stored, err = s.readRows(ctx, l.rows); err != nil {
		return l, err
	}
	for i := range l.rows {
		f := s.compareRow(c, &l.rows[i], &l.stored[i])
		f.Guard = l.have.Version
		if slices.ContainsFunc(l.have.Shares, func(share state.Share) bool { return share.Group == l.rows[i].row }) {
			f.Version = l.have.Version // an unchanged row keeps its old version
		}
		l.findings = append(l.findings, f)
	}
	return l, nil
}

// compareContribution compares the contribution of an item with the rows that it should have.
func (s *itemRowsSink) compareContribution(c *record.Change, l *itemComparison) Finding {
	want := l.plan.expectedShares()
	f := Finding{Kind: Contribution, Place: string(c.Key), PlaceText: s.itemText(c), Expected: len(want) > 0,
		Version: l.have.Version, Guard: l.have.Version, Verdict: Equal}
	switch f.FoundText = rowsText(&l.have); {
	case l.have.Version.IsZero() && len(want) > 0:
		f.Verdict = Missing
	case len(want) == 0 && len(l.have.Shares) > 0:
		f.Verdict = Extra
	case len(want) > 0:
		f.setDifferences(s.rowDifferences(c, l, want), "")
	}
	return f
}

func rowsText(have *state.Contribution) string {
	text := fmt.Sprintf("%d rows", len(have.Shares))
	switch n := len(have.Shares); {
	case have.Version.IsZero():
		return "nothing"
	case n == 0:
		return "no row"
	case n == 1:
		text = "1 row"
	}
	if have.Void {
		text += ", written in part"
	}
	return text
}

// rowDifferences describes three kinds of rows: rows that the contribution lacks, extra rows, and rows with other
// contents.
func (s *itemRowsSink) rowDifferences(c *record.Change, l *itemComparison, want []state.Share) []string {
	have := s.comparableShares(l.have.Shares)
	find := func(shares []state.Share, row state.Row) int {
		return slices.IndexFunc(shares, func(share state.Share) bool { return share.Group == row })
	}
	var lines []string
	for _, w := range s.comparableShares(want) {
		switch i := find(have, w.Group); {
		case i < 0:
			lines = append(lines, "does not have "+l.plan.where[w.Group])
		case !have[i].Equal(w):
			lines = append(lines, "other contents of "+l.plan.where[w.Group])
		}
	}
	for _, h := range have {
		if find(want, h.Group) < 0 {
			lines = append(lines, "still has "+s.rowText(c, s.viewTarget.Table, h.Group))
		}
	}
	return lines
}

// Repair writes the contribution of an item and all its rows that differ. It uses one transaction if they fit.
func (s *itemRowsSink) Repair(ctx context.Context, c *record.Change, f Finding) (Outcome, error) {
	_, done, err := s.lookAgain(ctx, s, c, &f)
	if err != nil || done.Result != "" {
		return done, err
	}
	if c == nil {
		return refusedRepair(errNoItem)
	}
	l, err := s.loadAndCompare(ctx, c, []Entry{{Kind: f.Kind, Place: f.Place}})
	switch {
	case err != nil:
		return Outcome{}, err
	case l.planErr != nil:
		return refusedRepair(l.planErr)
	}
	if l.have.Version != f.Guard {
		return Outcome{Result: ChangedMeanwhile}, nil
	}
	op := l.plan.op
	if op == nil {
		op = &view.ItemRowsOp{Source: c.Key}
	}
	op.Target, op.Version = &s.viewTarget, c.Version
	for i := range l.stored { // an item without a contribution: changes older than the present rows stay refused
		if st := &l.stored[i]; st.Exists && st.Source == c.Key && st.Version.Compare(op.Version) > 0 {
			op.Version = st.Version
		}
	}
	rewrite, err := s.rowsToRewrite(c, &l)
	if err != nil {
		return refusedRepair(err)
	}
	for i, r := range op.Rows { // the planned rows come first
		r.SetAttributes(s.keepUnstableColumns(r.Attributes, l.stored[i].Item.Get))
	}
	wrote := fmt.Sprintf("rows of %s: %d, of which %d differed or were left over", s.itemText(c), len(op.Rows),
		len(rewrite))
	if s.dryRun {
		return Outcome{Result: Repaired, WriteText: wrote}, nil
	}
	release, err := s.repairQueue.Wait(ctx, rewrite...)
	defer release()
	if err != nil {
		return Outcome{}, err
	}
	r, err := op.RepairItemRows(ctx, s.rows, l.have, rewrite)
	return s.outcome(r, err, wrote)
}

// rowsToRewrite returns the rows that differ, or an error if one of them may not be written.
func (s *itemRowsSink) rowsToRewrite(c *record.Change, l *itemComparison) (rows []state.Row, err error) {
	for i, found := range l.findings[1:] { // the first is that of the contribution
		switch st := &l.stored[i]; {
		case !found.Verdict.Differs():
		case st.Exists && !s.isOwn(st):
			return nil, errForeign
		case st.Exists && st.Source != c.Key && found.Expected:
			return nil, errOtherItem
		default:
			rows = append(rows, l.rows[i].row)
		}
	}
	return rows, nil
}

// errNoItem refuses the repair of a row that names no item.
var errNoItem = errs.New("the row names no item: delete it by hand")
