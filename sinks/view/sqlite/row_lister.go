package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/internal/seq"
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
	return seq.Lazy(func() (iter.Seq2[view.Row, error], error) {
		table, err := s.existingTable(ctx, t.Name)
		if err != nil {
			return nil, err
		}
		query := sqlite.ListQuery{
			Select: "SELECT pk, sk, version, birth, source, item, attributes FROM " + quote(tablePrefix+t.Name) +
				" WHERE item IS NOT NULL AND view = ? AND pipeline = ?",
			Args: []any{t.View, t.Pipeline}, Key: []string{"pk", "sk"},
		}
		derived := derivedChecker{table: table}
		rows := seq.Map(sqlite.List(ctx, s.DB, query, l, listedRowScanner()),
			func(stored storedRow) (view.Row, bool, error) {
				r := view.Row{View: t.View}
				err := s.setListed(&r, table, &stored)
				r.DifferingCopy = derived.check(r.Item, stored.attributes)
				return r, true, err
			})
		return rows, nil
	})
}

// listedRowScanner returns a function that scans the rows of one view. The rows usually have the same birth, so it
// allocates the text of the birth only once.
func listedRowScanner() func(rows *sql.Rows) (sqlite.ListedRow[storedRow], error) {
	var lastBirth string
	return func(rows *sql.Rows) (sqlite.ListedRow[storedRow], error) {
		var r storedRow
		var birth sql.RawBytes
		err := rows.Scan(&r.pk, &r.sk, &r.version, &birth, &r.source, &r.item, &r.attributes)
		if string(birth) != lastBirth {
			lastBirth = string(birth)
		}
		r.birth = lastBirth
		size := len(r.item) + len(r.attributes.String)
		return sqlite.ListedRow[storedRow]{Value: r, Key: []any{r.pk, r.sk}, Size: size}, err
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
	r.PK = listedKeyValue(stored.pk, r.PK)
	if t.SK != "" {
		r.SK = listedKeyValue(stored.sk, r.SK)
	}
	return nil
}

// listedKeyValue returns the value of a key attribute with which a row is found. If the key column was changed by hand,
// it is the text in the column. Otherwise it is rowKey, the attribute in the row itself.
func listedKeyValue(column any, rowKey item.Value) item.Value {
	text, isText := column.(string)
	if !isText || string(rowKey.Raw()) == text {
		return rowKey
	}
	if keyText, _ := rowKey.Text(); keyText == text {
		return rowKey // the raw texts differ only because rowKey has escapes
	}
	return item.StringValue(text)
}
