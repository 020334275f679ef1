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

const selectWhole = `SELECT doc, version, void, birth, entries, source FROM "_tws_documents" WHERE "index" = ? AND id = ?`

// RepairDocuments repairs documents in one transaction, as search.Repairer defines.
func (s *Store) RepairDocuments(ctx context.Context, repairs []search.DocumentRepair) ([]search.Result, error) {
	results := make([]search.Result, len(repairs))
	parsed := make([]fields, len(repairs))
	for i := range repairs {
		if m := &repairs[i].Next; !m.Tombstone {
			parsed[i], results[i].Err = fieldsOf(m.Doc)
		}
	}

	err := s.transact(ctx, func(t *tx) error {
		for i := range repairs {
			if ctx.Err() != nil {
				return sqlite.CanceledError(ctx)
			}
			if results[i].Err != nil {
				continue
			}
			var err error
			if results[i], err = t.repair(&repairs[i], parsed[i]); err != nil {
				return err
			}
		}
		return t.changes.flush(t)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// repair writes a mutation if the document that was read is still stored. Otherwise the repair is Overtaken.
func (t *tx) repair(r *search.DocumentRepair, docFields fields) (result search.Result, err error) {
	m := &r.Next
	index, foreignErr, err := t.store.ensureIndex(t.Writer, m.Index)
	if err != nil {
		return result, err
	}
	if foreignErr != nil {
		return search.Result{Err: foreignErr}, nil //nolint:nilerr // the error of one document fails no other
	}

	current, seen, err := t.readWhole(index, m.ID)
	if err != nil {
		return result, err
	}
	if seen.Exists && current.birth != m.Birth {
		return result, state.BirthMismatch("", "a document of index "+m.Index, current.birth, m.Birth)
	}
	if !seen.Matches(&r.Expected) {
		return search.Result{Overtaken: true}, nil
	}
	return result, t.replace(index, m, docFields, current, rewriteAll)
}

// readWhole returns a stored document in two forms: current for a write, and seen for the comparison with an audit.
func (t *tx) readWhole(index int64, id string) (current stored, seen search.StoredDocument, err error) {
	err = t.QueryRows(selectWhole, []any{index, id}, func(rows *sql.Rows) error {
		var version string
		err := rows.Scan(&current.doc, &version, &current.void, &current.birth, &current.entries, (*[]byte)(&seen.Doc))
		if err != nil {
			return t.store.db.WrapError("read", err)
		}
		if current.version, err = record.ParseVersion(version); err != nil {
			return t.store.db.Damaged("the document "+id, err)
		}
		seen.Exists, seen.Tombstone, seen.Version = true, seen.Doc == nil, current.version
		return nil
	})
	return current, seen, err
}
