package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

var (
	_ view.Lister             = (*Store)(nil)
	_ view.GuardLister        = (*Store)(nil)
	_ view.ContributionLister = (*Store)(nil)
)

// ListRows reads the rows page by page. If the version of a row was damaged by hand, the row has the zero version.
// ListRows does not use the key attributes of t.
func (s *Store) ListRows(ctx context.Context, t view.Target, l state.Listing) iter.Seq2[view.Row, error] {
	return func(yield func(view.Row, error) bool) {
		table, err := s.existingTable(ctx, t.Name)
		if err != nil {
			yield(view.Row{}, err)
			return
		}
		q := sqlite.ListQuery{
			Select: "SELECT pk, sk, version, birth, source, item, attributes FROM " + quote(tablePrefix+t.Name) +
				" WHERE item IS NOT NULL AND view = ? AND pipeline = ?",
			Args: []any{t.View, t.Pipeline}, Key: []string{"pk", "sk"},
		}
		derived := derivedChecker{table: table}
		for stored, err := range sqlite.List(ctx, s.DB, q, l, listedRowScanner()) {
			r := view.Row{View: t.View}
			if err == nil {
				err = s.setListed(&r, table, &stored)
				r.Derived = derived.check(r.Item, stored.attributes)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// listedRowScanner returns a function that scans the rows of one view. The rows usually have the same birth, so it
// allocates the text of the birth only once.
func listedRowScanner() func(rows *sql.Rows) (sqlite.ListedRow[storedRow], error) {
	var birth string
	return func(rows *sql.Rows) (sqlite.ListedRow[storedRow], error) {
		var r storedRow
		var pk, sk any
		var b sql.RawBytes
		err := rows.Scan(&pk, &sk, &r.version, &b, &r.source, &r.item, &r.attributes)
		r.pk, r.sk = pk, sk
		if string(b) != birth {
			birth = string(b)
		}
		r.birth = birth
		return sqlite.ListedRow[storedRow]{Value: r, Key: []any{pk, sk}, Size: len(r.item) + len(r.attributes.String)}, err
	}
}

// setListed sets the fields of a listed row. If the stored version cannot be read, Version is zero.
func (s *Store) setListed(r *view.Row, t view.Table, stored *storedRow) error {
	image, err := item.Parse(stored.item)
	if err != nil {
		return fmt.Errorf("sqlite: %s: a row of item %s: %w", s.Path(), stored.source, err)
	}
	r.Source, r.Birth = item.Key(stored.source), stored.birth
	r.Version, _ = record.ParseVersion(stored.version)
	setItem(r, t, image)
	r.PK = keyOf(stored.pk, r.PK)
	if t.SK != "" {
		r.SK = keyOf(stored.sk, r.SK)
	}
	return nil
}

// keyOf returns the key attribute by which a row is found. It is the text in the key column if the column was changed
// by hand. Otherwise it is rowKey, the attribute in the row itself.
func keyOf(column any, rowKey item.Value) item.Value {
	text, isText := column.(string)
	if !isText || string(rowKey.Raw()) == text {
		return rowKey
	}
	if keyText, _ := rowKey.Text(); keyText == text {
		return rowKey // the raw texts differ only because rowKey has escapes
	}
	return item.StringValue(text)
}
