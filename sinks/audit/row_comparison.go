package audit

import (
	"cmp"
	"context"
	"errors"
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

// rowSink compares a view. The rows of the view guard themselves, or are guarded by item: see byItem.
type rowSink struct {
	base
	store           view.Store
	target          view.Target
	unstableColumns []string // names of attributes that do not depend on the item alone
	byItem          bool     // rows are guarded by item; false: rows guard themselves, and there are no guards
	collision       view.Collision
}

var _ Sink = (*rowSink)(nil)

func newRowSink(b base, store view.Store) *rowSink {
	s := &rowSink{base: b, store: store, target: b.targetOf(b.spec.View.Table, b.spec.View.Key)}
	s.target.InPlace, s.target.RefuseOtherItem = b.spec.View.InPlace, b.spec.View.Unique() != nil
	s.byItem = !b.spec.View.RowsGuardThemselves()
	s.collision = view.Collision(b.spec.View.Collision)
	for _, a := range b.spec.View.Attributes {
		if !a.Template.Stable() {
			s.unstableColumns = append(s.unstableColumns, a.Name)
		}
	}
	return s
}

// ExpectedEntries yields the row of an item, and its guard and its claim if rows are guarded by item.
func (s *rowSink) ExpectedEntries(c *record.Change, yield func(Entry)) error {
	if c.Removed() {
		return nil
	}
	return s.planner.withOps(c, func(ops []pipeline.Op) error { return s.expectedRows(c, ops, yield) })
}

// expectedRows yields the entries of planned ops.
func (s *rowSink) expectedRows(c *record.Change, ops []pipeline.Op, yield func(Entry)) error {
	d := digesters.Get().(*digester)
	defer digesters.Put(d)
	for _, op := range ops {
		p, err := s.plannedRowOf(op)
		if err != nil {
			return err
		}
		if !p.expected {
			continue
		}
		contents := s.plannedDigest(d, c.Key, p.columns)
		if p.claim != nil {
			yield(Entry{Kind: Guard, Place: string(c.Key), Item: c.Key, Digest: d.guardDigest(p.row)})
			yield(Entry{Kind: Claim, Place: claimPlace(p.row, c.Key), Item: c.Key, Digest: contents})
			yield(Entry{Kind: Owner, Place: string(p.row), Item: c.Key, Digest: d.ownerDigest(c.Key), Claimed: true,
				LatestOwns: s.collision == view.KeepLast})
		}
		yield(Entry{Kind: Row, Place: string(p.row), Item: c.Key, Digest: contents, Claimed: p.claim != nil})
	}
	return nil
}

// plannedRow is a row to compare, with its planned contents.
type plannedRow struct {
	row      state.Row
	keyText  string         // key of the row, for people
	expected bool           // the item should have the row
	columns  []state.Column // columns of the row, if it is expected
	claim    *view.ClaimOp  // nil if the row guards itself, or is not planned
}

// plannedRowOf returns the row of a planned op, without the text of its key. The row is "" if the item claims no row.
func (s *rowSink) plannedRowOf(op pipeline.Op) (p plannedRow, err error) {
	switch o := op.(type) {
	case *view.Op:
		p = plannedRow{expected: !o.Mutation.Tombstone, columns: o.Mutation.Attributes}
		p.row, err = state.MakeRow(o.Mutation.PK, o.Mutation.SK)
	case *view.ClaimOp:
		p = plannedRow{row: o.Row, expected: o.Row != "", columns: o.Claim.Attributes, claim: o}
		err = o.Err()
	}
	return p, err
}

// plannedDigest returns the digest of the planned columns of a row or a claim.
func (s *rowSink) plannedDigest(d *digester, source item.Key, columns []state.Column) Digest {
	for _, c := range columns {
		if !slices.Contains(s.unstableColumns, c.Name) {
			d.columns = append(d.columns, c)
		}
	}
	return d.rowDigest(source, "")
}

// storedDigest returns the digest of a stored row without its key and the store's own attributes.
func (s *rowSink) storedDigest(d *digester, source item.Key, row item.Image, foreign string) Digest {
	for name, v := range row.All() {
		if s.compares(name) {
			d.columns = append(d.columns, state.Column{Name: name, Value: v})
		}
	}
	return d.rowDigest(source, foreign)
}

// compares reports whether an attribute of a row is compared. It returns false for the key, the store's own attributes
// and the unstable columns.
func (s *rowSink) compares(name string) bool {
	isKey := name == s.target.PK || name == s.target.SK
	isOfStore := strings.HasPrefix(name, reservedField)
	return !isKey && !isOfStore && !slices.Contains(s.unstableColumns, name)
}

// StoredEntries yields the rows of the view. If rows are guarded by item, it also yields the guards, the claims and the
// owners.
func (s *rowSink) StoredEntries(ctx context.Context, l state.Listing) iter.Seq2[Entry, error] {
	if !s.byItem {
		return s.storedRows(ctx, l)
	}
	return seq.Concat(s.storedRows(ctx, l), s.storedGuards(ctx, l))
}

// storedRows yields the rows of the view.
func (s *rowSink) storedRows(ctx context.Context, l state.Listing) iter.Seq2[Entry, error] {
	lister, err := storeAs[view.Lister](s.store, "list rows")
	if err != nil {
		return noEntries(err)
	}
	d := new(digester)
	rowEntry := func(dst []Entry, r *view.Row) ([]Entry, error) {
		row, err := state.MakeRow(r.PK, r.SK)
		if err != nil {
			return nil, err
		}
		digest := s.storedDigest(d, r.Source, r.Item, s.foreignBirth(r.Birth)+r.DifferingCopy)
		return append(dst, Entry{Kind: Row, Place: string(row), Item: r.Source, Version: r.Version, Digest: digest}), nil
	}
	return storedEntries(s.spec.Name, lister.ListRows(ctx, s.target, l), rowEntry)
}

// storedGuards yields the guards that have a row, the claims and the owners. It leaves out a guard whose item is known
// only by its hash; Compare finds that guard by its item. It also leaves out a claim or an owner whose row is known
// only by its hash.
func (s *rowSink) storedGuards(ctx context.Context, l state.Listing) iter.Seq2[Entry, error] {
	lister, err := storeAs[view.GuardLister](s.store, "list the guards of items")
	if err != nil {
		return noEntries(err)
	}
	d := new(digester)
	guardEntry := func(dst []Entry, g *state.ItemGuard) ([]Entry, error) {
		claim := g.Claim
		switch {
		case g.Item == "" || g.Row == "":
			return dst, nil
		case g.Owns:
			return append(dst, Entry{Kind: Owner, Place: string(g.Row), Item: g.Item, Digest: d.ownerDigest(g.Item)}), nil
		case claim != nil:
			return append(dst, Entry{Kind: Claim, Place: claimPlace(g.Row, g.Item), Item: g.Item, Version: claim.Version,
				Digest: s.plannedDigest(d, claim.Source, claim.Attributes)}), nil
		default:
			return append(dst, Entry{Kind: Guard, Place: string(g.Item), Item: g.Item, Version: g.Version,
				Digest: d.guardDigest(g.Row)}), nil
		}
	}
	return storedEntries(s.spec.Name+": guards", lister.ListGuards(ctx, s.target.State(), l), guardEntry)
}

// Compare compares the rows, the guard and the claims of an item with the plan.
func (s *rowSink) Compare(ctx context.Context, known *ItemState, places []Entry) ([]Finding, error) {
	c := known.change()
	planned, err := s.plannedRows(c)
	if err != nil {
		return s.unplannable(ctx, known, err)
	}
	rows, guarded := planned.rows, planned.guarded
	for _, place := range places {
		guarded = guarded || s.isGuarded(c, place.Kind)
		rows = s.withRow(c, rows, rowOf(place))
	}
	var findings []Finding
	if guarded {
		findings, err = s.compareGuardAndClaims(ctx, c, rows)
	} else {
		findings, err = s.compareRows(ctx, c, rows)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.spec.Name, err)
	}
	return s.completeFindings(ctx, known, findings)
}

// claimPlace returns the place of an item's claim on a row. A space separates the two keys, since neither has one.
func claimPlace(row state.Row, key item.Key) string { return string(row) + " " + string(key) }

// rowOf returns the row of a place; "" if the place is that of a guard.
func rowOf(p Entry) state.Row {
	switch p.Kind {
	case Row, Owner:
		return state.Row(p.Place)
	case Claim:
		row, _, _ := strings.Cut(p.Place, " ")
		return state.Row(row)
	default:
		return ""
	}
}

// isGuarded reports whether a place of this kind is guarded by item. Compare calls it because the plans of an item may
// not show this: a filter may drop the item.
func (s *rowSink) isGuarded(c *record.Change, kind Kind) bool {
	if c == nil {
		return false
	}
	allRowsGuarded := s.byItem && !s.spec.View.RowsMayGuardThemselves()
	return kind != Row || allRowsGuarded
}

// plannedRows are the rows that the plans of an item name.
type plannedRows struct {
	rows    []plannedRow
	guarded bool // the rows are guarded by item
}

// plannedRows returns the planned rows of an item; none if c is nil.
func (s *rowSink) plannedRows(c *record.Change) (planned plannedRows, err error) {
	if c == nil {
		return plannedRows{}, nil
	}
	ops, err := s.opsOf(c)
	if err != nil {
		return plannedRows{}, err
	}
	for _, op := range ops {
		p, err := s.plannedRowOf(op)
		if err != nil {
			return plannedRows{}, err
		}
		planned.guarded = planned.guarded || p.claim != nil
		if p.row != "" {
			p.keyText = op.(interface{ KeyText() string }).KeyText()
			planned.rows = append(planned.rows, p)
		}
	}
	return planned, nil
}

// compareRows reads the stored rows and compares each of them, without guards and claims.
func (s *rowSink) compareRows(ctx context.Context, c *record.Change, rows []plannedRow) ([]Finding, error) {
	stored, err := s.readRows(ctx, rows)
	if err != nil {
		return nil, err
	}
	fs := make([]Finding, len(rows))
	for i := range rows {
		fs[i] = s.compareRow(c, &rows[i], &stored[i])
	}
	return fs, nil
}

// readRows returns the stored rows, in the order of rows.
func (s *rowSink) readRows(ctx context.Context, rows []plannedRow) ([]view.StoredRow, error) {
	return s.rowsAt(ctx, s.store, s.target, rowKeys(rows))
}

// rowsAt reads the rows at keys. A sink that never started has none, also if its table is missing.
func (b *base) rowsAt(ctx context.Context, store any, t view.Target, keys []state.Row) ([]view.StoredRow, error) {
	in, err := storeAs[view.Inspector](store, "read single rows")
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	stored, err := in.StoredRows(ctx, t, keys)
	if errors.Is(err, view.ErrNoTable) && b.neverStarted {
		return make([]view.StoredRow, len(keys)), nil
	}
	return stored, err
}

// rowKeys returns the keys of rows.
func rowKeys(rows []plannedRow) []state.Row {
	keys := make([]state.Row, len(rows))
	for i := range rows {
		keys[i] = rows[i].row
	}
	return keys
}

// withRow appends the row with this key to rows, unless the key is "" or rows already has the row.
func (s *rowSink) withRow(c *record.Change, rows []plannedRow, key state.Row) []plannedRow {
	if key == "" || slices.ContainsFunc(rows, func(p plannedRow) bool { return p.row == key }) {
		return rows
	}
	return append(rows, plannedRow{row: key, keyText: s.rowText(c, s.target.Table, key)})
}

// compareRow compares a stored row with the planned row.
func (s *rowSink) compareRow(c *record.Change, p *plannedRow, st *view.StoredRow) Finding {
	isLive := st.Exists && !st.Tombstone
	isForeign := st.Exists && !s.isOwn(st)
	isOfOtherItem := st.Exists && c != nil && st.Source != c.Key
	f := Finding{Kind: Row, Place: string(p.row), PlaceText: p.keyText, Expected: p.expected, Version: st.Version,
		Verdict: Equal, hasOtherVersion: isForeign || isOfOtherItem}
	switch {
	case isForeign && p.expected:
		f.FoundText = fmt.Sprintf("a row of %s of the pipeline %s", cmp.Or(st.View, "nothing that tablewake wrote"),
			cmp.Or(st.Pipeline, "none"))
	case isForeign && isLive:
		f.FoundText = "a row of another sink"
	case !st.Exists:
		f.FoundText = "nothing"
	case !isLive:
		f.FoundText = "a tombstone"
	case isOfOtherItem:
		f.FoundText, f.Owner = "a row of the item "+s.otherItemText(c, st.Source), st.Source
	case !p.expected && c != nil:
		f.FoundText = "a row of this item"
	default:
		f.FoundText = "a row"
	}

	isOfItem := isLive && !isForeign && !isOfOtherItem // or the item is unknown
	switch {
	case isOfItem && p.expected:
		names := s.differingAttributes(st.Item, p.columns)
		if s.foreignBirth(st.Birth) != "" {
			names = append(names, reservedField)
		}
		f.setDifferences(names, st.DifferingCopy)
	case isOfItem:
		f.Verdict = Extra
	case p.expected && (isLive || isForeign):
		f.Verdict = Wrong
	case p.expected:
		f.Verdict = Missing
	}
	return f
}

// differingAttributes returns the names of the compared attributes that differ, sorted.
func (s *rowSink) differingAttributes(row item.Image, want []state.Column) []string {
	wanted := make(map[string]bool, len(want))
	var names []string
	for _, column := range want {
		wanted[column.Name] = true
		stored, ok := row.Get(column.Name)
		isEqual := ok && stored.Equal(column.Value)
		if s.compares(column.Name) && !isEqual {
			names = append(names, column.Name)
		}
	}
	for name := range row.All() {
		if !wanted[name] && s.compares(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
