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

// ListRows reads the rows page by page. A row whose version was changed by hand has none. t needs no key attributes.
func (s *Store) ListRows(ctx context.Context, t view.Target, l state.Listing) iter.Seq2[view.Row, error] {
	return func(yield func(view.Row, error) bool) {
		table, found, err := tableNamed(ctx, s.DB, t.Name)
		if err == nil && !found {
			err = s.noTable(t.Name)
		}
		if err != nil {
			yield(view.Row{}, err)
			return
		}
		q := sqlite.ListQuery{
			Select: "SELECT pk, sk, version, birth, source, item, attributes FROM " + quote(tablePrefix+t.Name) + " WHERE item IS NOT NULL AND view = ? AND pipeline = ?",
			Args:   []any{t.View, t.Pipeline}, Key: []string{"pk", "sk"},
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

// listedRowScanner returns a scanner of rows of one view. They usually have the same birth, so one text serves many.
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

// setListed sets the contents of a listed row. It has the zero version if the stored version cannot be read.
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

// keyOf returns the key that a row is found by, where somebody has changed a text in its column: it is not that of the row
// itself.
func keyOf(column any, own item.Value) item.Value {
	text, isText := column.(string)
	if !isText || string(own.Raw()) == text {
		return own
	}
	if of, _ := own.Text(); of == text {
		return own // with escapes
	}
	return item.StringValue(text)
}
