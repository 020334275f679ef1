package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
)

const readStanding = `SELECT version, source FROM "_tws_documents" WHERE "index" = ? AND id = ?`

// Stands reads what stands at the id. There is no routing: an index is one shard.
func (s *Store) Stands(ctx context.Context, index, id, _ string) (there search.Standing, err error) {
	number, err := s.find(ctx, index)
	if errors.Is(err, search.ErrNoIndex) {
		return there, nil
	}
	if err != nil {
		return there, err
	}
	var version string
	var source []byte
	err = s.db.Reader().QueryRowContext(ctx, readStanding, number, id).Scan(&version, &source)
	if errors.Is(err, sql.ErrNoRows) {
		return there, nil
	}
	if err != nil {
		return there, s.db.Failed("read", err)
	}
	there.There, there.Tombstone, there.Doc = true, source == nil, source
	if there.Version, err = pipeline.ParseVersion(version); err != nil {
		err = s.db.Damaged("the document "+id, err)
	}
	return there, err
}
