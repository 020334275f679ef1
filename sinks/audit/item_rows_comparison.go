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
	"github.com/tablewake/tablewake/sinks/internal/seq"
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
	s.target.RefuseOtherItem = b.spec.View.Unique() != nil
	var err error
	s.rows, err = storeAs[view.ItemRowsStore](store, "read which rows an item has")
	return s, err
}

// itemPlan has the writes that are planned for an item.
type itemPlan struct {
	op       *view.ItemRowsOp // nil if nothing is planned, because a filter drops the item
	rows     []plannedRow
	keyTexts map[state.Row]string // keys of the rows, for people
}

// planItem returns the writes that are planned for an item. It returns no writes if c is nil.
func (s *itemRowsSink) planItem(c *record.Change) (itemPlan, error) {
	if c == nil {
		return itemPlan{}, nil
	}
	ops, err := s.opsOf(c)
	if err != nil {
		return itemPlan{}, err
	}
	return newItemPlan(ops)
}

// newItemPlan returns the plan that consists of ops.
func newItemPlan(ops []pipeline.Op) (p itemPlan, err error) {
	p.keyTexts = make(map[state.Row]string)
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
			keyText := r.KeyText()
			p.rows = append(p.rows, plannedRow{row: r.Row, keyText: keyText, expected: true, columns: r.Attributes})
			p.keyTexts[r.Row] = keyText
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
		plan, err := newItemPlan(ops)
		if err != nil || len(plan.rows) == 0 {
			return err
		}
		d := digesters.Get().(*digester)
		defer digesters.Put(d)
		for i := range plan.rows {
			r := &plan.rows[i]
			yield(Entry{Kind: Row, Place: string(r.row), Item: c.Key, Digest: s.plannedDigest(d, c.Key, r.columns)})
		}
		digest := d.contributionDigest(s.comparableShares(plan.expectedShares()))
		yield(Entry{Kind: Contribution, Place: string(c.Key), Item: c.Key, Digest: digest})
		return nil
	})
}

// comparableShares returns shares in the order of their rows. If a column does not depend on the item alone,
// comparableShares leaves out the digests of the rows.
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
	lister, err := storeAs[view.ContributionLister](s.store, "list the contributions of items")
	if err != nil {
		return noEntries(err)
	}
	d := new(digester)
	contributions := storedEntries(s.spec.Name+": contributions", lister.ListContributions(ctx, s.target.State(), l),
		func(dst []Entry, c *state.ItemContribution) ([]Entry, error) {
			return appendContribution(dst, c, d.contributionDigest(s.comparableShares(c.Shares))), nil
		})
	return seq.Concat(s.storedRows(ctx, l), contributions)
}

// Compare compares the contribution of an item, and its rows. It compares each row that is planned, that the stored
// contribution has, or that places name.
func (s *itemRowsSink) Compare(ctx context.Context, known *ItemState, places []Entry) ([]Finding, error) {
	c := known.change()
	plan, err := s.planItem(c)
	if err != nil {
		return s.unplannable(ctx, known, err)
	}
	if plan.op == nil && len(places) == 0 {
		return nil, nil // a filter drops the item
	}
	compared, err := s.compareWithPlan(ctx, c, plan, places)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	if c == nil { // without the item its contribution is unknown
		return compared.rowFindings, nil
	}
	findings := slices.Concat([]Finding{s.compareContribution(c, &compared)}, compared.rowFindings)
	return s.completeFindings(ctx, known, findings)
}

// comparedItem has the plan of an item, and what is stored for the item.
type comparedItem struct {
	plan         itemPlan
	contribution state.Contribution // the stored contribution; zero if the item has none, or is unknown
	rows         []plannedRow       // the planned rows, and after them other rows of the contribution and of places
	stored       []view.StoredRow   // the stored rows, in the order of rows
	rowFindings  []Finding          // in the order of rows
}

// compareWithPlan reads the contribution of the item, unless c is nil. It compares the rows of the plan, the rows of
// the contribution, and the rows at places.
func (s *itemRowsSink) compareWithPlan(
	ctx context.Context, c *record.Change, plan itemPlan, places []Entry,
) (comparedItem, error) {
	compared := comparedItem{plan: plan, rows: slices.Clone(plan.rows)}
	if c != nil {
		contributions, err := s.rows.Contributions(ctx, s.target.State(), []item.Key{c.Key})
		if err != nil {
			return comparedItem{}, err
		}
		compared.contribution = contributions[0]
	}
	for _, share := range compared.contribution.Shares {
		compared.rows = s.withRow(c, compared.rows, share.Group)
	}
	for _, place := range places {
		compared.rows = s.withRow(c, compared.rows, rowOf(place))
	}

	var err error
	if compared.stored, err = s.readRows(ctx, compared.rows); err != nil {
		return comparedItem{}, err
	}
	for i := range compared.rows {
		f := s.compareRow(c, &compared.rows[i], &compared.stored[i])
		f.Guard = compared.contribution.Version
		if findShare(compared.contribution.Shares, compared.rows[i].row) != nil {
			f.Version = compared.contribution.Version // an unchanged row keeps its old version
		}
		compared.rowFindings = append(compared.rowFindings, f)
	}
	return compared, nil
}

// findShare returns the share of a row; nil if there is none.
func findShare(shares []state.Share, row state.Row) *state.Share {
	i := slices.IndexFunc(shares, func(share state.Share) bool { return share.Group == row })
	if i < 0 {
		return nil
	}
	return &shares[i]
}

// compareContribution compares the contribution of an item with the rows that it should have.
func (s *itemRowsSink) compareContribution(c *record.Change, compared *comparedItem) Finding {
	want, stored := compared.plan.expectedShares(), &compared.contribution
	f := Finding{Kind: Contribution, Place: string(c.Key), PlaceText: s.itemText(c), Expected: len(want) > 0,
		Version: stored.Version, Guard: stored.Version, Verdict: Equal, FoundText: rowsText(stored)}
	switch {
	case f.Expected && stored.Version.IsZero():
		f.Verdict = Missing
	case f.Expected:
		f.setDifferences(s.rowDifferences(c, compared, want), "")
	case len(stored.Shares) > 0:
		f.Verdict = Extra
	}
	return f
}

// rowsText says for people how many rows a contribution has.
func rowsText(c *state.Contribution) string {
	if c.Version.IsZero() {
		return "nothing"
	}
	var text string
	switch n := len(c.Shares); n {
	case 0:
		return "no row"
	case 1:
		text = "1 row"
	default:
		text = fmt.Sprintf("%d rows", n)
	}
	if c.Void {
		text += ", written in part"
	}
	return text
}

// rowDifferences describes three kinds of rows: rows that the contribution lacks, extra rows, and rows with other
// contents.
func (s *itemRowsSink) rowDifferences(c *record.Change, compared *comparedItem, want []state.Share) []string {
	have := s.comparableShares(compared.contribution.Shares)
	var lines []string
	for _, planned := range s.comparableShares(want) {
		keyText := compared.plan.keyTexts[planned.Group]
		switch stored := findShare(have, planned.Group); {
		case stored == nil:
			lines = append(lines, "does not have "+keyText)
		case !stored.Equal(planned):
			lines = append(lines, "other contents of "+keyText)
		}
	}
	for _, stored := range have {
		if findShare(want, stored.Group) == nil {
			lines = append(lines, "still has "+s.rowText(c, s.target.Table, stored.Group))
		}
	}
	return lines
}

// Repair writes the contribution of an item and all its rows that differ. It uses one transaction if the writes fit
// into one.
func (s *itemRowsSink) Repair(ctx context.Context, known *ItemState, f Finding) (Outcome, error) {
	c := known.change()
	present, done, err := s.compareAgain(ctx, s, known, &f)
	if err != nil || done.Result != "" {
		return done, err
	}
	if c == nil {
		return refusedRepair(errNoItem)
	}
	plan, err := s.planItem(c)
	if err != nil {
		return refusedRepair(err)
	}
	compared, err := s.compareWithPlan(ctx, c, plan, []Entry{{Kind: f.Kind, Place: f.Place}})
	if err != nil {
		return Outcome{}, err
	}
	if compared.contribution.Version != present.Guard {
		return Outcome{Result: ChangedMeanwhile}, nil
	}
	rewrite, err := s.rowsToRewrite(c, &compared)
	if err != nil {
		return refusedRepair(err)
	}

	op := s.repairOp(known, &compared)
	writeText := fmt.Sprintf("rows of %s: %d, of which %d differed or were left over", s.itemText(c), len(op.Rows),
		len(rewrite))
	if s.dryRun {
		return Outcome{Result: Repaired, WriteText: writeText}, nil
	}
	release, err := s.repairQueue.Wait(ctx, rewrite...)
	defer release()
	if err != nil {
		return Outcome{}, err
	}
	r, err := op.RepairItemRows(ctx, s.rows, compared.contribution, rewrite)
	return s.outcome(r, err, writeText)
}

// repairOp returns the op that repairs the rows of an item. It changes the planned op.
func (s *itemRowsSink) repairOp(known *ItemState, compared *comparedItem) *view.ItemRowsOp {
	key := known.Change.Key
	op := compared.plan.op
	if op == nil {
		op = &view.ItemRowsOp{Source: key}
	}
	op.Target, op.Version = &s.target, known.repairVersion(compared.newestVersion(key))
	for i, r := range op.Rows { // the planned rows come first in stored
		r.SetAttributes(s.keepUnstableColumns(r.Attributes, compared.stored[i].Item.Get))
	}
	return op
}

// newestVersion returns the newest version of the contribution of an item and of its stored rows. Changes that are
// older than these rows must stay refused, also if the item has no contribution.
func (compared *comparedItem) newestVersion(key item.Key) record.Version {
	newest := compared.contribution.Version
	for i := range compared.stored {
		if st := &compared.stored[i]; st.Exists && st.Source == key && st.Version.Compare(newest) > 0 {
			newest = st.Version
		}
	}
	return newest
}

// rowsToRewrite returns the rows that differ, or an error if one of them may not be written.
func (s *itemRowsSink) rowsToRewrite(c *record.Change, compared *comparedItem) (rows []state.Row, err error) {
	for i := range compared.rows {
		f, st := &compared.rowFindings[i], &compared.stored[i]
		switch {
		case !f.Verdict.Differs():
			continue
		case st.Exists && !s.isOwn(st):
			return nil, errForeign
		case st.Exists && st.Source != c.Key && f.Expected:
			return nil, errOtherItem
		}
		rows = append(rows, compared.rows[i].row)
	}
	return rows, nil
}

// errNoItem refuses the repair of a row that names no item.
var errNoItem = errs.New("the row names no item: delete it by hand")
