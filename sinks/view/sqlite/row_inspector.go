package sqlite

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

var _ view.Inspector = (*Store)(nil)

// StoredRows reads the rows and tombstones at the keys of rows. The Expires of a tombstone is always zero.
func (s *Store) StoredRows(ctx context.Context, t view.Target, rows []state.Row) ([]view.StoredRow, error) {
	if _, err := s.existingTable(ctx, t.Name); err != nil {
		return nil, err
	}
	query := fmt.Sprintf(readStored, quote(tablePrefix+t.Name))
	derived := derivedChecker{table: t.Table}
	stored := make([]view.StoredRow, len(rows))
	for i, row := range rows {
		pk, sk, err := row.Decode()
		if err != nil {
			return nil, err
		}
		if stored[i], err = s.readRow(ctx, query, pk, sk, &derived); err != nil {
			return nil, err
		}
		if stored[i].Exists || t.InPlace {
			continue
		}
		if stored[i], err = s.readTombstone(ctx, t, pk, sk); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

// readRow reads a row or a tombstone in place.
func (s *Store) readRow(
	ctx context.Context, query string, pk, sk item.Value, derived *derivedChecker,
) (stored view.StoredRow, err error) {
	r, found, err := sqlite.ReadFirst(ctx, s.DB, query, []any{keyColumn(pk), keyColumn(sk)}, scanAll)
	if err != nil || !found {
		return stored, err
	}
	if stored, err = s.parseStored(&r); err != nil {
		return stored, err
	}
	stored.DifferingCopy = derived.check(stored.Item, r.attributes)
	return stored, nil
}

func (s *Store) parseStored(r *storedRow) (stored view.StoredRow, err error) {
	isTombstone := r.item == nil
	stored = view.StoredRow{Exists: true, Tombstone: isTombstone, InPlace: isTombstone, Source: item.Key(r.source),
		View: r.view, Pipeline: r.pipeline, Birth: r.birth}
	stored.Version, stored.Item, err = s.parseRow(r)
	return stored, err
}

// readTombstone reads a tombstone that is apart from its row.
func (s *Store) readTombstone(ctx context.Context, t view.Target, pk, sk item.Value) (view.StoredRow, error) {
	tombstone, err := s.StoredTombstone(ctx, t.State(), keyColumn(pk), keyColumn(sk))
	if err != nil || tombstone.Version == "" {
		return view.StoredRow{}, err
	}
	stored, err := t.StoredTombstone(&tombstone)
	if err != nil {
		err = s.Damaged("the tombstone of a row of item "+string(tombstone.Source), err)
	}
	return stored, err
}
