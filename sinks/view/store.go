package view

import (
	"context"
	"iter"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// Table is where rows are: a table and the names of its one or two key attributes.
type Table struct {
	Name string
	PK   string // partition key attribute
	SK   string // sort key attribute; "" where the table has none
}

// Target is a view as the store sees it.
type Target struct {
	Table
	View     string // name of the sink
	Pipeline string // name of the pipeline. A row belongs to the view and the pipeline that first wrote it
	Birth    string // of the view's output in the table, which rows carry (state.Birth); "" where nobody keeps births

	// InPlace keeps the tombstones of rows that guard themselves at the rows' keys. Default: in
	// the store's state, so that the table holds live rows only.
	InPlace bool
}

// State is the view as the state knows it.
func (t Target) State() state.Target {
	return state.Target{Pipeline: t.Pipeline, Table: t.Name, View: t.View, Birth: t.Birth}
}

// Mutation writes one row, or its tombstone, on condition that the store holds
// no version of the row, and no tombstone of it, at or above Version. A void of the same
// version is below one that is not void: what is there of that version is then whole.
type Mutation struct {
	PK, SK     item.Value // S, N or B; SK is absent where the table has none
	Version    record.Version
	Source     item.Key // of the item that the row is of
	Tombstone  bool
	Void       bool           // of a tombstone: no row could be made of the change; the same version may replace it, unless it is void too
	Attributes []state.Column // without the key; empty for a tombstone

	// What a store may use to write less. Nothing depends on it being right.
	Fresh  bool // the row is probably not in the table
	Joined bool // it belongs to the mutation before it in the call: one change's new row, and this its old one
}

// Result is what became of one write of a call. The zero Result is: the store holds it, now or since an earlier
// delivery of the same version.
type Result struct {
	Superseded bool  // of a mutation: a newer version was there, row or tombstone, and stays
	Lost       bool  // of other writes: something changed since it was read: read again
	Err        error // this write failed; marked with pipeline.Transient where it may be tried again
}

// Store writes the rows of views.
//
// Where tombstones are is the target's InPlace. In place, a tombstone is an item at the
// row's key, which readers leave out. Apart, it is in the store's state, and the row is
// deleted in the same transaction; a row that isn't in the table is written in one
// transaction with a check of its tombstone, so that of two writers, one of whom takes the
// row away, one always sees the other. A row that is in the table is above its tombstone.
//
// Apply blocks until everything it reports as held is durable, and returns one
// Result for each mutation, in order. No two mutations of a call write the same
// row, and they may be applied in any order, together or one by one. ms and the Attributes in
// it are the store's to read until Apply returns, and values are ranges of a page: a store that
// keeps them beyond the call copies Attributes and clones each value. An
// error means the whole call failed and that any part of it may have been applied;
// it is marked as pipeline.Transient and pipeline.Fatal say. A row that belongs to
// another sink fails its mutation with a [ForeignRowError], whatever the versions. Tombstones are kept as long
// as older changes may still arrive. Apply may be called by several goroutines, and by
// other processes on the same table.
type Store interface {
	Apply(ctx context.Context, t Target, ms []Mutation) ([]Result, error)
}

// Query selects rows of a table.
type Query struct {
	PK       item.Value // rows of this partition key alone. Default: all
	PKPrefix string     // rows whose partition key is an S that begins so. Default: all
	SKPrefix string     // rows whose sort key is an S that begins so. Default: all
	Limit    int        // at most so many. Default: no limit
}

// Row is one row as a reader sees it.
type Row struct {
	PK, SK  item.Value // SK is absent where the table has none
	Item    item.Image // the whole row with its key
	Version record.Version
	Source  item.Key
	View    string
}

// ErrNoTable is what reading a table brings that the store does not know.
var ErrNoTable = errs.New("no such view table")

// Reader reads rows back, without tombstones, in the order of partition key and
// sort key: S and B by their bytes, N by number. It ends with the first error,
// which is [ErrNoTable] where nothing was ever written to such a table, if the store
// can tell. A row that is written meanwhile may or may not be seen.
type Reader interface {
	Rows(ctx context.Context, t Table, q Query) iter.Seq2[Row, error]
}

// Emptier tells whether a view or an aggregate has anything in a store: rows,
// tombstones, or what is remembered of items. A store implements it that forgets, so
// that all of the history may be replayed into what is empty (state.Retention).
type Emptier interface {
	Empty(ctx context.Context, t Target) (bool, error)
}
