package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

const readStoredDocument = `SELECT version, source FROM "_tws_documents" WHERE "index" = ? AND id = ?`

// ReadStored returns the document or tombstone at an id. The routing is ignored, since an index is one shard.
func (s *Store) ReadStored(ctx context.Context, index, id, _ string) (there search.StoredDocument, err error) {
	number, err := s.find(ctx, index)
	if errors.Is(err, search.ErrNoIndex) {
		return there, nil
	}
	if err != nil {
		return there, err
	}
	d, found, err := sqlite.ReadFirst(ctx, s.db, readStoredDocument, []any{number, id}, func(rows *sql.Rows) (d struct{ version, source []byte }, err error) {
		err = rows.Scan(&d.version, &d.source)
		return d, err
	})
	if err != nil || !found {
		return there, err
	}
	there.There, there.Tombstone, there.Doc = true, d.source == nil, d.source
	if there.Version, err = record.ParseVersion(string(d.version)); err != nil {
		err = s.db.Damaged("the document "+id, err)
	}
	return there, err
}
