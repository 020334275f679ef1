package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
)

const readStoredDocument = `SELECT doc, version, entries, source FROM "_tws_documents" WHERE "index" = ? AND id = ?`

// ReadStored returns the document or tombstone at an id. It ignores the routing, since an index is one shard.
func (s *Store) ReadStored(ctx context.Context, index, id, _ string) (stored search.StoredDocument, err error) {
	number, err := s.find(ctx, index, anySink)
	if errors.Is(err, search.ErrNoIndex) {
		return stored, nil
	}
	if err != nil {
		return stored, err
	}

	var version string
	var d indexed
	err = s.db.Snapshot(ctx, func(tx *sql.Tx) error {
		err := forEachRow(ctx, tx, readStoredDocument, []any{number, id}, func(rows *sql.Rows) error {
			stored.Exists = true
			return rows.Scan(&d.doc, &version, &d.entries, &d.source)
		})
		isLive := d.source != nil
		if err == nil && isLive {
			stored.DifferingCopy, err = differingCopy(ctx, tx, number, d)
		}
		return s.db.WrapError("read", err)
	})
	if err != nil || !stored.Exists {
		return search.StoredDocument{}, err
	}

	stored.Tombstone, stored.Doc = d.source == nil, d.source
	if stored.Version, err = record.ParseVersion(version); err != nil {
		err = s.db.Damaged("the document "+id, err)
	}
	return stored, err
}

// differingCopy returns the DifferingCopy of a document of an index.
func differingCopy(ctx context.Context, tx *sql.Tx, index int64, d indexed) (string, error) {
	c := derivedChecker{index: index}
	same, err := c.check(ctx, tx, []indexed{d})
	if err != nil || same[0] {
		return "", err
	}
	return searchedBy, nil
}
