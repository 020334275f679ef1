package sqlite

import (
	"github.com/tablewake/tablewake/sinks/state/sqlite"
	"github.com/tablewake/tablewake/sinks/view"
)

// putApart writes a row whose tombstones are apart. A row in the table is always newer than its tombstone, because the
// transaction that inserts the row checks the tombstone.
func (x *tx) putApart(m *view.Mutation) (view.Result, error) {
	values := x.rowValues(m, m.Version.String())
	n, err := x.ExecCount(x.table.update, values...) // most rows replace an older row
	if sqlite.IsTooBig(err) {
		return view.Result{Err: err}, nil
	}
	if err != nil || n > 0 {
		return view.Result{}, err
	}
	if r, refused, err := x.refusal(m); err != nil || refused {
		return r, err
	}
	return view.Result{}, x.Exec(x.table.putIfNewer, values...)
}

// removeRow deletes a row and writes its tombstone.
func (x *tx) removeRow(m *view.Mutation) (view.Result, error) {
	pk, sk := keyColumn(m.PK), keyColumn(m.SK)
	deleted, err := x.ExecCount(x.table.deleteOlder, pk, sk, x.target.View, x.target.Pipeline, x.target.Birth,
		m.Version.String())
	if err != nil {
		return view.Result{}, err
	}
	if deleted == 0 {
		if r, refused, err := x.refusal(m); err != nil || refused {
			return r, err
		}
	}
	return view.Result{}, x.SetTombstone(x.id, pk, sk, m.TombstoneAt(m.Version))
}
