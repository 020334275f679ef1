package sqlite

import (
	"context"
	"database/sql"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

var _ view.Repairer = (*Store)(nil)

// RepairRows repairs rows in one transaction, as view.Repairer defines.
func (s *Store) RepairRows(ctx context.Context, t view.Target, rs []view.RowRepair) ([]view.Result, error) {
	return s.writeEach(ctx, t, len(rs), func(x *tx, i int) error { return x.repairRow(&rs[i]) })
}

// repairRow writes the row or the tombstone of a repair. It returns errLost if the stored row or tombstone has changed
// since it was read.
func (x *tx) repairRow(r *view.RowRepair) error {
	row, err := state.MakeRow(r.Next.PK, r.Next.SK)
	if err != nil {
		return err
	}
	if err := x.checkOwned(row); err != nil {
		return err
	}
	stored, err := x.storedRow(r.Next.PK, r.Next.SK)
	if err != nil {
		return err
	}
	if x.target.InPlace {
		if !stored.Matches(&r.Expected) {
			return errLost
		}
		return x.putRepaired(r, r.Next.Version)
	}
	return x.repairApart(r, stored)
}

// repairApart is repairRow for a row whose tombstone is apart. stored is the entry in the table of rows: the row, or a
// tombstone that was put there by hand.
func (x *tx) repairApart(r *view.RowRepair, stored view.StoredRow) error {
	pk, sk := keyColumn(r.Next.PK), keyColumn(r.Next.SK)
	tombstone, err := x.Tombstone(x.id, pk, sk)
	if err != nil {
		return err
	}
	var storedApart *state.Tombstone
	if tombstone.Version != "" {
		storedApart = &tombstone
	}
	apart, err := r.Apart(storedApart)
	if err != nil {
		return x.store.Damaged("a tombstone of the view "+x.target.View, err)
	}
	if apart.Lost || !stored.Matches(&apart.AtKey) {
		return errLost
	}

	switch apart.Tombstone {
	case storedApart: // it stays
	case nil:
		err = x.DropTombstone(x.id, pk, sk)
	default:
		err = x.SetTombstone(x.id, pk, sk, apart.Tombstone)
	}
	if err != nil {
		return err
	}
	if r.Next.Tombstone {
		return x.Exec(x.table.delete, pk, sk, x.target.View, x.target.Pipeline, x.target.Birth)
	}
	return x.putRepaired(r, apart.Version)
}

// putRepaired puts the row of a repair, or its tombstone at the row's key.
func (x *tx) putRepaired(r *view.RowRepair, version record.Version) error {
	return x.Exec(x.table.put, x.rowValues(&r.Next, version.String())...)
}

// storedRow reads the row or the tombstone at a key in the table of rows.
func (x *tx) storedRow(pk, sk item.Value) (view.StoredRow, error) {
	row, found, err := x.readRow(pk, sk)
	if err != nil || !found {
		return view.StoredRow{}, err
	}
	return x.store.parseStored(&row)
}

// readRow reads the record of a row or a tombstone in the table of rows; false if there is none.
func (x *tx) readRow(pk, sk item.Value) (row storedRow, found bool, err error) {
	err = x.QueryRows(x.table.stored, []any{keyColumn(pk), keyColumn(sk)}, func(rows *sql.Rows) error {
		found = true
		row, err = scanAll(rows)
		return err
	})
	return row, found, err
}
