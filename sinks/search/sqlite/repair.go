package sqlite

import (
	"context"
	"database/sql"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
)

var _ search.Repairer = (*Store)(nil)

const readWhole = `SELECT doc, version, void, birth, entries, source FROM "_tws_documents" WHERE "index" = ? AND id = ?`

// RepairDocuments repairs documents in one transaction, as search.Repairer defines.
func (s *Store) RepairDocuments(ctx context.Context, ds []search.DocumentRepair) ([]search.Result, error) {
	rs, ms, fs := make([]search.Result, len(ds)), make([]search.Mutation, len(ds)), make([]fields, len(ds))
	for i := range ds {
		if ms[i], rs[i].Err = ds[i].Mutation(); rs[i].Err == nil && !ms[i].Tombstone {
			fs[i], rs[i].Err = fieldsOf(ms[i].Doc)
		}
	}
	err := s.write(ctx, func(t *tx) error {
		for i := range ds {
			if ctx.Err() != nil {
				return sqlite.CanceledError(ctx)
			}
			if rs[i].Err != nil {
				continue
			}
			index, foreign, err := s.index(t.ctx, t.Writer, ms[i].Index)
			if err != nil {
				return err
			}
			if foreign != nil {
				rs[i].Err = foreign
				continue
			}
			if rs[i].Overtaken, err = t.writeRepair(index, &ds[i].Expected, &ms[i], fs[i]); err != nil {
				return err
			}
		}
		return t.flush(t)
	})
	if err != nil {
		return nil, err
	}
	return rs, nil
}

// writeRepair writes a mutation if the document was, which the repair read, is still stored. lost is true if another
// document is stored.
func (t *tx) writeRepair(
	index int64, was *search.StoredDocument, m *search.Mutation, fs fields,
) (lost bool, err error) {
	is, there, err := t.readWhole(index, m.ID)
	switch {
	case err != nil:
		return false, err
	case there.Exists && is.birth != m.Birth:
		return false, state.BirthMismatch("", "a document of index "+m.Index, is.birth, m.Birth)
	case !there.Matches(was):
		return true, nil
	}
	return false, t.write(index, m, fs, is, true)
}

// readWhole returns the stored document in two forms: is for a write, and there for a comparison.
func (t *tx) readWhole(index int64, id string) (is stored, there search.StoredDocument, err error) {
	err = t.QueryRows(t.ctx, readWhole, []any{index, id}, func(rows *sql.Rows) error {
		var version string
		err := rows.Scan(&is.doc, &version, &is.void, &is.birth, &is.entries, (*[]byte)(&there.Doc))
		if err != nil {
			return t.store.db.WrapError("read", err)
		}
		if is.version, err = record.ParseVersion(version); err != nil {
			return t.store.db.Damaged("the document "+id, err)
		}
		there.Exists, there.Tombstone, there.Version = true, there.Doc == nil, is.version
		return nil
	})
	return is, there, err
}
