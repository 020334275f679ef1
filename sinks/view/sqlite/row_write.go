package sqlite

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// ownedVersion returns the version of the row at a key; "" if there is none. foreign is not nil if the row belongs
// to another sink. The error is fatal if the row has another birth.
func (x *tx) ownedVersion(pk, sk item.Value) (version string, foreign *view.ForeignRowError, err error) {
	var owner, pipe, birth string
	found, err := x.QueryRow(x.ctx, x.table.owner, []any{keyColumn(pk), keyColumn(sk)}, &version, &owner, &pipe, &birth)
	if err == nil && found && owner == x.target.View && pipe == x.target.Pipeline && birth != x.target.Birth {
		err = state.BirthMismatch(x.target.View, "a row of table "+x.target.Name, birth, x.target.Birth)
	}
	if err != nil || !found || owner == x.target.View && pipe == x.target.Pipeline {
		return version, nil, err
	}
	row, err := state.MakeRow(pk, sk)
	return version, &view.ForeignRowError{Target: x.target, Row: row, View: owner, Pipeline: pipe}, err
}

// checkOwner returns an error value if a row belongs to another sink, else nil.
func (x *tx) checkOwner(r state.Row) (*view.ForeignRowError, error) {
	pk, sk, err := x.decodeRow(r)
	if err != nil {
		return nil, err
	}
	_, foreign, err := x.ownedVersion(pk, sk)
	return foreign, err
}

// replaceRow puts a row whose guards were checked before. The error is permanent if the row belongs to another
// sink.
func (x *tx) replaceRow(r state.Row, version record.Version, source item.Key, columns []state.Column) error {
	pk, sk, err := x.decodeRow(r)
	if err != nil {
		return err
	}
	attributes, item := x.rowJSON(pk, sk, columns)
	n, err := x.ExecCount(x.ctx, x.table.replace, keyColumn(pk), keyColumn(sk), version.String(), false, x.target.Pipeline, x.target.View, x.target.Birth, string(source), attributes, item)
	if err != nil || n > 0 {
		return err
	}
	return x.whyRefused(r)
}

// deleteRow deletes a row whose guards were checked before. The error is permanent if the row belongs to another
// sink.
func (x *tx) deleteRow(r state.Row) error {
	pk, sk, err := x.decodeRow(r)
	if err != nil {
		return err
	}
	n, err := x.ExecCount(x.ctx, x.table.delete, keyColumn(pk), keyColumn(sk), x.target.View, x.target.Pipeline, x.target.Birth)
	if err != nil || n > 0 {
		return err
	}
	return x.whyRefused(r) // nil if there is no row
}

// whyRefused returns the error of a row that was not written: it belongs to another sink.
func (x *tx) whyRefused(r state.Row) error {
	foreign, err := x.checkOwner(r)
	if err != nil || foreign == nil {
		return err
	}
	return foreign
}

// decodeRow returns the attributes of a row's key, and checks that the table has as many.
func (x *tx) decodeRow(r state.Row) (pk, sk item.Value, err error) {
	pk, sk, err = r.Decode()
	if err == nil && sk.Exists() != (x.table.SK != "") {
		err = errs.New("another number of attributes")
	}
	if err != nil {
		err = fmt.Errorf("sqlite: the row %q of the view %s is no key %s: %w", r, x.target.View, keyNames(x.table.Table), err)
	}
	return pk, sk, err
}
