package sqlite

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// rowOwner is the row or the tombstone at a key in the table of rows, and its owner. It is zero if there is none.
type rowOwner struct {
	view.StoredEntry
	foreign *view.ForeignRowError // error if the row belongs to another sink; else nil
}

// ownerAt returns the owner of the row at a key. If the row belongs to the sink but has another birth, it belongs to
// another output of the sink, and the error is fatal.
func (x *tx) ownerAt(pk, sk item.Value) (owner rowOwner, err error) {
	var sink, pipe, birth string
	found, err := x.QueryRow(x.table.owner, []any{keyColumn(pk), keyColumn(sk)}, &owner.Version, &owner.Void,
		&owner.Source, &owner.IsRow, &sink, &pipe, &birth)
	if err != nil || !found {
		return owner, err
	}
	isOwn := sink == x.target.View && pipe == x.target.Pipeline
	if isOwn && birth != x.target.Birth {
		return owner, state.BirthMismatch(x.target.View, "a row of table "+x.target.Name, birth, x.target.Birth)
	}
	if isOwn {
		return owner, nil
	}
	row, err := state.MakeRow(pk, sk)
	owner.foreign = &view.ForeignRowError{Target: x.target, Row: row, View: sink, Pipeline: pipe}
	return owner, err
}

// ownerOf returns the owner of the row r, like ownerAt.
func (x *tx) ownerOf(r state.Row) (rowOwner, error) {
	pk, sk, err := x.decodeRow(r)
	if err != nil {
		return rowOwner{}, err
	}
	return x.ownerAt(pk, sk)
}

// replaceRow puts a row. The caller has checked its guards. The error is permanent if the row belongs to another sink.
func (x *tx) replaceRow(r state.Row, version record.Version, source item.Key, columns []state.Column) error {
	pk, sk, err := x.decodeRow(r)
	if err != nil {
		return err
	}
	m := view.Mutation{PK: pk, SK: sk, Source: source, Attributes: columns}
	n, err := x.ExecCount(x.table.put, x.rowValues(&m, version.String())...)
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
	n, err := x.ExecCount(x.table.delete, keyColumn(pk), keyColumn(sk), x.target.View, x.target.Pipeline,
		x.target.Birth)
	if err != nil || n > 0 {
		return err
	}
	return x.checkOwned(r) // nil if there is no row
}

// checkOwned returns an error if a row belongs to another sink or to another birth of the sink's output.
func (x *tx) checkOwned(r state.Row) error {
	owner, err := x.ownerOf(r)
	if err == nil && owner.foreign != nil {
		return owner.foreign
	}
	return err
}

// decodeRow returns the values of a row's key attributes. It returns an error if the table has another number of key
// attributes.
func (x *tx) decodeRow(r state.Row) (pk, sk item.Value, err error) {
	pk, sk, err = r.Decode()
	if err == nil && sk.Exists() != (x.table.SK != "") {
		err = errs.New("another number of attributes")
	}
	if err != nil {
		err = fmt.Errorf("sqlite: the row %q of the view %s is not a key %s: %w", r, x.target.View, keyNames(x.table.Table), err)
	}
	return pk, sk, err
}
