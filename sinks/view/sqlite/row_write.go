package sqlite

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// checkOwnerAt returns the version of the row at a key, and the key of the item that the row belongs to. Both are "" if
// there is no row. foreign is not nil if the row belongs to another sink. The error is fatal if the row has another
// birth, which is the recorded identity of the sink's output.
func (x *tx) checkOwnerAt(
	pk, sk item.Value,
) (version string, source item.Key, foreign *view.ForeignRowError, err error) {
	var owner, pipe, birth string
	found, err := x.QueryRow(x.ctx, x.table.owner, []any{keyColumn(pk), keyColumn(sk)}, &version, &owner, &pipe, &birth,
		&source)
	isOwn := owner == x.target.View && pipe == x.target.Pipeline
	if err == nil && found && isOwn && birth != x.target.Birth {
		err = state.BirthMismatch(x.target.View, "a row of table "+x.target.Name, birth, x.target.Birth)
	}
	if err != nil || !found || isOwn {
		return version, source, nil, err
	}
	row, err := state.MakeRow(pk, sk)
	return version, source, &view.ForeignRowError{Target: x.target, Row: row, View: owner, Pipeline: pipe}, err
}

// checkOwnerOf is checkOwnerAt for the row r. It does not return the version.
func (x *tx) checkOwnerOf(r state.Row) (source item.Key, foreign *view.ForeignRowError, err error) {
	pk, sk, err := x.decodeRow(r)
	if err == nil {
		_, source, foreign, err = x.checkOwnerAt(pk, sk)
	}
	return source, foreign, err
}

// replaceRow puts a row. The caller has checked its guards. The error is permanent if the row belongs to another sink.
func (x *tx) replaceRow(r state.Row, version record.Version, source item.Key, columns []state.Column) error {
	pk, sk, err := x.decodeRow(r)
	if err != nil {
		return err
	}
	attributes, item := x.rowJSON(pk, sk, columns)
	n, err := x.ExecCount(x.ctx, x.table.replace, keyColumn(pk), keyColumn(sk), version.String(), false, x.target.Pipeline,
		x.target.View, x.target.Birth, string(source), attributes, item)
	if err != nil || n > 0 {
		return err
	}
	return x.checkOwned(r)
}

// deleteRow deletes a row. The caller has checked its guards. The error is permanent if the row belongs to another
// sink.
func (x *tx) deleteRow(r state.Row) error {
	pk, sk, err := x.decodeRow(r)
	if err != nil {
		return err
	}
	n, err := x.ExecCount(x.ctx, x.table.delete, keyColumn(pk), keyColumn(sk), x.target.View, x.target.Pipeline,
		x.target.Birth)
	if err != nil || n > 0 {
		return err
	}
	return x.checkOwned(r) // nil if there is no row
}

// checkOwned returns an error if a row belongs to another sink or another birth.
func (x *tx) checkOwned(r state.Row) error {
	_, foreign, err := x.checkOwnerOf(r)
	if err != nil || foreign == nil {
		return err
	}
	return foreign
}

// decodeRow returns the attributes of a row's key. It returns an error if the table has another number of key
// attributes.
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
