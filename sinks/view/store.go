package view

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// Table is the table of the rows, with the names of its one or two key attributes.
type Table struct {
	Name string
	PK   string // partition key attribute
	SK   string // sort key attribute; "" if the table has none
}

// Target describes a view or an aggregate for its store.
type Target struct {
	Table
	View     string // name of the sink
	Pipeline string // name of the pipeline. A row belongs to the view and the pipeline that first wrote it
	Birth    string // id of the sink's output in the table, which rows carry (state.Birth); "" if births are not recorded

	// RefuseOtherItem means that the key of a row should identify the item, and another item could still write it. A stored
	// row then refuses a row of another item with a [CollisionError], for any version, and so does a newer tombstone of another
	// item. A tombstone of another item is superseded by a stored row. Default: a row key has one item.
	RefuseOtherItem bool

	// InPlace keeps the tombstones of rows that guard themselves at the rows' keys. Default: in the store's state,
	// so that the table has live rows only.
	InPlace bool
}

// State returns the target for package state.
func (t Target) State() state.Target {
	return state.Target{Pipeline: t.Pipeline, Table: t.Name, View: t.View, Birth: t.Birth}
}

// Mutation writes one row or its tombstone, on condition that the store has neither a row nor a tombstone with this
// version or a newer one. A void tombstone is replaced by its own version, unless the mutation is void, too.
type Mutation struct {
	PK, SK     item.Value // S, N or B; SK is absent if the table has no sort key
	Version    record.Version
	Source     item.Key // of the item that the row belongs to
	Tombstone  bool
	Void       bool           // of a tombstone: no row could be made of the change; a row of the same version may replace it
	Attributes []state.Column // without the key; empty for a tombstone

	// Hints to write less. The result is the same if they are wrong.
	Fresh  bool // the row is probably not stored
	Joined bool // it removes the old row of the change whose new row is the mutation before it
}

// TombstoneAt returns the tombstone of the row apart from it, at a version.
func (m *Mutation) TombstoneAt(v record.Version) *state.Tombstone {
	return &state.Tombstone{Version: v.String(), Source: m.Source, Void: m.Void}
}

// Result is the result of one write of a call. The zero Result means that the write is durable, by this delivery or
// an earlier one.
type Result struct {
	Superseded bool  // of a mutation: a newer row or tombstone is stored and stays
	Lost       bool  // of other writes: another writer changed what the write was based on; read again
	Err        error // the write failed; the error is marked with pipeline.Transient if it may be tried again
}

// Store writes rows that guard themselves.
//
// Target.InPlace decides where tombstones are. In place, a tombstone is an item at the row's key, and readers skip
// it. Apart, a tombstone is in the store's state, and one transaction deletes the row and writes the tombstone. A
// row that is not stored is written in one transaction with a check of its tombstone. So if two writers put and
// remove a row at the same time, one of them sees the other. A stored row is always newer than its tombstone.
//
// Apply blocks until every successful result is durable. It returns one Result for each mutation, in order. Each
// mutation of a call writes another row, and the store may apply them in any order, together or one by one. The
// store may read ms and its Attributes until Apply returns. Values are ranges of a page: a store that keeps them
// longer copies Attributes and clones each value. An error means that the whole call failed; any part of it may
// have been applied. It is marked with pipeline.Transient or pipeline.Fatal. A row that belongs to another sink
// fails its mutation with a [ForeignRowError], for any version. If Target.RefuseOtherItem is set, a row of another item fails
// it with a [CollisionError]. Tombstones are kept as long as older changes may still arrive. Apply may be called by
// several goroutines, and by other processes on the same table.
type Store interface {
	Apply(ctx context.Context, t Target, ms []Mutation) ([]Result, error)
}

// Query selects rows of a table.
type Query struct {
	PK       item.Value // only rows of this partition key. Default: all
	PKPrefix string     // only rows whose partition key is an S with this prefix. Default: all
	SKPrefix string     // only rows whose sort key is an S with this prefix. Default: all
	Limit    int        // maximum number of rows. Default: no limit
	Reverse  bool       // the greatest key first. Default: the least first

	From  item.Value // only rows from this sort key on, in the direction of the read. It needs PK. Default: all
	After bool       // only rows behind From. Default: a row at From, too
	To    item.Value // only rows up to this sort key, in the direction of the read. It needs PK. Default: all
}

// Ends reports whether a row with the sort key sk is behind To, in the direction of the read. A reader ends there.
func (q Query) Ends(sk item.Value) bool {
	if !q.To.Exists() {
		return false
	}
	order := strings.Compare(sortText(sk), sortText(q.To))
	return order > 0 && !q.Reverse || order < 0 && q.Reverse
}

// Check returns an error if no reader answers the query.
func (q Query) Check() error {
	if (q.From.Exists() || q.To.Exists()) && !q.PK.Exists() {
		return errs.New("view: a Query with From or To, and without PK: a sort key is a place in one partition")
	}
	return nil
}

// Row is one row as a [Reader] returns it.
type Row struct {
	PK, SK  item.Value // SK is absent if the table has no sort key
	Item    item.Image // all attributes with the key
	Version record.Version
	Source  item.Key
	View    string
	Birth   string // of the sink's output that it was written to ([Target]); "" if births are not recorded
	Derived string // of a listed row: as in [StoredRow]
}

// ErrNoTable is the error of reading a table that does not exist.
var ErrNoTable = errs.New("no such view table")

// Reader reads rows in the order of partition key and sort key, or in reverse: S and B by their bytes, N by number.
// Tombstones are left out. Several goroutines may read at once. The sequence ends with the first error. The error is
// [ErrNoTable] if the table does not exist or, on some stores, was never written. A row that is written during the read
// may or may not be seen.
type Reader interface {
	Rows(ctx context.Context, t Table, q Query) iter.Seq2[Row, error]
}

// Emptier is implemented by stores that forget. Empty reports whether the store has nothing of a view or an
// aggregate: no rows, tombstones, guards or contributions. Then the whole history may be replayed
// (state.Retention).
type Emptier interface {
	Empty(ctx context.Context, t Target) (bool, error)
}

// ItemStore writes rows that are guarded by item, because several items can claim one row. The row, the waiting
// claims and the guards of the items change together or not at all.
//
// All methods block, and may be called by several goroutines and by other processes on the same tables. An error
// means that the whole call failed. It is marked with pipeline.Transient or pipeline.Fatal.
type ItemStore interface {
	// Guards reads the guards of items, in the order of items, consistently. The zero Guard means an unknown item.
	Guards(ctx context.Context, t state.Target, items []item.Key) ([]state.Guard, error)

	// RowClaims reads rows with all their claims, in the order of rows, consistently.
	RowClaims(ctx context.Context, t Target, rows []state.Row) ([]RowClaims, error)

	// Settle applies ws in order, each of them completely or not at all, and returns one Result for each. A write
	// is Lost if the guard (its version or Void) or the claims on a row have changed since they were read. A write of
	// the version that it replaces is a repair: it also puts the row of the owner back, as it should be. A later
	// write of ws may build on an earlier one, by its version and revisions, and is lost with it. A successful
	// result is durable. Values are ranges of a page: a store that keeps them longer clones them.
	Settle(ctx context.Context, t Target, ws []state.ItemWrite) ([]Result, error)
}

// ClaimLister is implemented by an [ItemStore] that lists rows.
type ClaimLister interface {
	// ContestedRows yields the rows of a view on which claims wait. It may read the whole state of all sinks. A row whose
	// claims change meanwhile may be missing, or be as it was. A pulled error ends the sequence.
	ContestedRows(ctx context.Context, t state.Target) iter.Seq2[state.ContestedRow, error]
}

// RowClaims is a row with all claims on it.
type RowClaims struct {
	state.RowClaims
	Foreign *ForeignRowError // the row belongs to another sink and cannot be claimed; nil: it can
}

// ItemRowsStore writes the rows of items that have several each ([Options.ForEach]). The contribution of an item, which
// names its rows, and the rows change together or not at all.
//
// All methods block, and may be called by several goroutines and by other processes on the same tables. An error
// means that the whole call failed. It is marked with pipeline.Transient or pipeline.Fatal.
type ItemRowsStore interface {
	// Contributions is as in [GroupStore].
	Contributions(ctx context.Context, t state.Target, items []item.Key) ([]state.Contribution, error)

	// ReplaceItemRows applies ws, each of them completely or not at all, and returns one Result for each. A write is Lost
	// if another contribution is stored than it expects: by its version, its Void or its shares. It fails with a
	// [ForeignRowError] if a row to put belongs to another sink, and with a [CollisionError] if it belongs to another item.
	// Each write of a call has another item. Values are ranges of a page: a store that keeps them longer clones them. A
	// successful result is durable.
	ReplaceItemRows(ctx context.Context, t Target, ws []state.ItemRowsWrite) ([]Result, error)

	// MaxActions returns how many rows one write may change, and one more for the contribution; 0: any number.
	MaxActions() int
}

// GroupStore writes the rows of aggregates. The contributions of items and the rows of their groups change together
// or not at all.
//
// All methods block, and may be called by several goroutines and by other processes on the same tables. An error
// means that the whole call failed. It is marked with pipeline.Transient or pipeline.Fatal.
type GroupStore interface {
	// Contributions reads the contributions of items, in the order of items, consistently. The zero Contribution
	// means an unknown item.
	Contributions(ctx context.Context, t state.Target, items []item.Key) ([]state.Contribution, error)

	// Contribute applies ws, each of them completely or not at all, and returns one Result for each. A write is
	// Lost if a contribution (its version, its Void, or its shares if the write expects them) has changed since it was
	// read. It fails with a [ForeignRowError] if a group's row belongs to another sink. Each write of a call has other items; writes may have groups in
	// common. A successful result is durable.
	Contribute(ctx context.Context, t Target, ws []state.GroupWrite) ([]Result, error)

	// MaxActions returns how many items and group changes one GroupWrite may have together; 0: any number. Each
	// [state.GroupChange] and each [state.Member] is a group change.
	MaxActions() int
}

// Inspector reads what is stored at the keys of rows, with the tombstones that a [Reader] skips. It explains why a
// row is missing.
type Inspector interface {
	// StoredRows reads rows of a view or an aggregate, in the order of rows, consistently. It finds tombstones in
	// place and apart. The zero StoredRow means that nothing is stored at the key. The error is ErrNoTable if the
	// table does not exist.
	StoredRows(ctx context.Context, t Target, rows []state.Row) ([]StoredRow, error)
}

// StoredRow is the row or the tombstone that is stored at a key.
type StoredRow struct {
	Exists    bool
	Tombstone bool           // the row was removed, and older changes of it are refused
	InPlace   bool           // the tombstone is at the row's key, whatever the target says: a person can have put it there
	Version   record.Version // of the change that wrote it
	Source    item.Key       // of the item that it belongs to; "" for a group
	View      string         // the sink that owns it
	Pipeline  string         // the pipeline that owns it
	Birth     string         // of the sink's output that it was written to ([Target]); "" if births are not recorded
	Item      item.Image     // all attributes with the key, without _tw
	Derived   string         // what the store derives from the row for other readers, and does not agree with it; "" if nothing
	Expires   time.Time      // when a tombstone may be deleted; zero: never
	Revision  string         // of a repaired row, a text that the repair made; "" if it was not repaired, or if the store needs none
}

// StoredTombstone returns what a tombstone that is apart from its row is at the row's key.
func (t Target) StoredTombstone(apart *state.Tombstone) (StoredRow, error) {
	version, err := record.ParseVersion(apart.Version)
	return StoredRow{
		Exists: true, Tombstone: true, Version: version, Source: apart.Source, View: t.View, Pipeline: t.Pipeline, Birth: t.Birth, Expires: apart.Expires,
	}, err
}
