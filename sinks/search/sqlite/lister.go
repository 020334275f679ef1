package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

var _ search.Lister = (*Store)(nil)

const listDocuments = `SELECT id, routing, version, source FROM "_tws_documents" WHERE "index" = ? AND source IS NOT NULL`

// ListDocuments reads the documents page by page. A store for readers lists the indexes of all sinks. A document
// whose version was changed by hand has none.
func (s *Store) ListDocuments(ctx context.Context, index string, l state.Listing) iter.Seq2[search.ListedDocument, error] {
	return func(yield func(search.ListedDocument, error) bool) {
		number, err := s.findOwn(ctx, index)
		if err != nil {
			yield(search.ListedDocument{}, err)
			return
		}
		q := sqlite.ListQuery{Select: listDocuments, Args: []any{number}, Key: []string{"id"}}
		for d, err := range sqlite.List(ctx, s.db, q, l, scanListed) {
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

func scanListed(rows *sql.Rows) (r sqlite.ListedRow[search.ListedDocument], err error) {
	d := &r.Value
	var version string
	if err := rows.Scan(&d.ID, &d.Routing, &version, (*[]byte)(&d.Doc)); err != nil {
		return r, err
	}
	d.There, d.Item = true, search.ItemOf(d.ID)
	d.Version, _ = record.ParseVersion(version)
	r.Key, r.Size = []any{d.ID}, len(d.Doc)
	return r, nil
}

// findOwn returns the number of an index of the store's sink.
func (s *Store) findOwn(ctx context.Context, name string) (id int64, err error) {
	if s.owner == (search.Owner{}) {
		return s.find(ctx, name)
	}
	found, err := s.made(ctx)
	if found {
		const q = findIndex + ` AND pipeline = ? AND sink = ?`
		id, found, err = sqlite.ReadFirst(ctx, s.db, q, []any{name, s.owner.Pipeline, s.owner.Sink}, sqlite.ScanColumn[int64])
	}
	if err == nil && !found {
		err = fmt.Errorf("%w: %s", search.ErrNoIndex, name)
	}
	return id, err
}
