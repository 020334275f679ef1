package sqlite

import (
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// applyApart writes or removes a row whose tombstones are apart. A row in the table is always newer than its tombstone,
// because the transaction that inserts the row checks the tombstone.
func (x *tx) applyApart(m *view.Mutation) (view.Result, error) {
	if m.Tombstone {
		return x.removeRow(m)
	}

	// Most rows replace an older row.
	pk, sk, version := keyColumn(m.PK), keyColumn(m.SK), m.Version.String()
	attributes, item := x.rowJSON(m.PK, m.SK, m.Attributes)
	n, err := x.ExecCount(x.ctx, x.table.update, version, string(m.Source), attributes, item, pk, sk, x.target.View,
		x.target.Pipeline, x.target.Birth, version)
	if sqlite.IsTooBig(err) {
		return view.Result{Err: err}, nil
	}
	if err != nil || n > 0 {
		return view.Result{}, err
	}
	if r, rowExists, err := x.refusedByRow(m); err != nil || rowExists {
		return r, err
	}

	tombstone, err := x.Tombstone(x.ctx, x.id, pk, sk)
	if err != nil || !m.TombstoneAt(m.Version).Replaces(tombstone) {
		return view.Result{Superseded: tombstone.Version != version}, err
	}
	return view.Result{}, x.Exec(x.ctx, x.table.put, pk, sk, version, false, x.target.Pipeline, x.target.View,
		x.target.Birth, string(m.Source), attributes, item)
}

// removeRow deletes a row and writes its tombstone.
func (x *tx) removeRow(m *view.Mutation) (view.Result, error) {
	pk, sk, version := keyColumn(m.PK), keyColumn(m.SK), m.Version.String()
	deleted, err := x.ExecCount(x.ctx, x.table.deleteOlder, pk, sk, x.target.View, x.target.Pipeline, x.target.Birth,
		version)
	if err != nil {
		return view.Result{}, err
	}
	if deleted == 0 {
		if r, rowExists, err := x.refusedByRow(m); err != nil || rowExists {
			return r, err
		}
	}
	storedVersion, err := x.SetTombstone(x.ctx, x.id, pk, sk, m.TombstoneAt(m.Version))
	return view.Result{Superseded: storedVersion > version}, err
}

// refusedByRow returns the result of a mutation whose statement changed nothing, if a stored row is the reason.
// rowExists is false if there is no row.
func (x *tx) refusedByRow(m *view.Mutation) (r view.Result, rowExists bool, err error) {
	stored, err := x.ownerAt(m.PK, m.SK)
	if err != nil {
		return r, false, err
	}
	if stored.foreign != nil {
		return view.Result{Err: stored.foreign}, true, nil //nolint:nilerr // it is the result of one mutation
	}
	return view.Result{Superseded: stored.version != m.Version.String()}, stored.version != "", nil
}
