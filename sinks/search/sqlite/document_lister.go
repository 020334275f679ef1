package sqlite

import (
	"context"
	"database/sql"
	"iter"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

var _ search.Lister = (*Store)(nil)

const listDocuments = `SELECT doc, id, routing, version, entries, source FROM "_tws_documents" WHERE "index" = ? AND source IS NOT NULL`

// ListDocuments reads the documents page by page. A store of [OpenReader] lists the documents of all sinks. If somebody
// changed the version of a document by hand and it cannot be parsed, Version is zero. ListDocuments reads the search
// data of a document a moment after the document. So if the document is written in between, DifferingCopy may be set
// although the search data is correct.
func (s *Store) ListDocuments(
	ctx context.Context, index string, l state.Listing,
) iter.Seq2[search.ListedDocument, error] {
	return func(yield func(search.ListedDocument, error) bool) {
		number, err := s.find(ctx, index, s.owner)
		if err != nil {
			yield(search.ListedDocument{}, err)
			return
		}

		q := sqlite.ListQuery{Select: listDocuments, Args: []any{number}, Key: []string{"id"}}
		page, size := make([]listedDocument, 0, checkedAtOnce), 0
		checker := derivedChecker{index: number}
		for d, err := range sqlite.List(ctx, s.db, q, l, scanListed) {
			if err != nil {
				yield(search.ListedDocument{}, err)
				return
			}
			page = append(page, d)
			size += len(d.Doc)
			isFull := len(page) == checkedAtOnce || size >= checkedBytes
			if !isFull {
				continue
			}
			if !s.yieldChecked(ctx, &checker, page, yield) {
				return
			}
			page, size = page[:0], 0
		}

		s.yieldChecked(ctx, &checker, page, yield)
	}
}

// yieldChecked yields the documents of a page after their search data was checked. It reports whether to continue.
func (s *Store) yieldChecked(
	ctx context.Context, c *derivedChecker, page []listedDocument, yield func(search.ListedDocument, error) bool,
) bool {
	if err := s.checkListed(ctx, c, page); err != nil {
		yield(search.ListedDocument{}, err)
		return false
	}
	for i := range page {
		if !yield(page[i].ListedDocument, nil) {
			return false
		}
	}
	return true
}

// The bounds of the documents that are checked together.
const (
	checkedAtOnce = 256
	checkedBytes  = 1 << 20
)

// listedDocument is a document with its search data.
type listedDocument struct {
	search.ListedDocument
	doc     int64
	entries []byte
}

// checkListed sets DifferingCopy of the documents whose search data has other words or values than the document.
func (s *Store) checkListed(ctx context.Context, c *derivedChecker, page []listedDocument) error {
	if len(page) == 0 {
		return nil
	}
	docs := make([]indexed, len(page))
	for i := range page {
		docs[i] = indexed{page[i].doc, page[i].entries, page[i].Doc}
	}
	return s.db.Snapshot(ctx, func(tx *sql.Tx) error {
		same, err := c.check(ctx, tx, docs)
		for i := range same {
			if !same[i] {
				page[i].DifferingCopy = searchedBy
			}
		}
		return s.db.WrapError("read", err)
	})
}

func scanListed(rows *sql.Rows) (r sqlite.ListedRow[listedDocument], err error) {
	d := &r.Value
	var version string
	if err := rows.Scan(&d.doc, &d.ID, &d.Routing, &version, &d.entries, (*[]byte)(&d.Doc)); err != nil {
		return r, err
	}
	d.Exists, d.Item = true, search.ItemOf(d.ID)
	d.Version, _ = record.ParseVersion(version)
	r.Key, r.Size = []any{d.ID}, len(d.Doc)
	return r, nil
}
