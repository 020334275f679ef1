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

// Table is a table of rows, with the names of its one or two key attributes.
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
	// id of the sink's output in the table, which each row has (state.Birth); "" if births are not recorded
	Birth string

	// RefuseOtherItem protects rows whose key should identify the item, although another item could have the same key.
	// If it is set, there are three rules:
	//
	//   - A write of a row fails with a [CollisionError] if the stored row belongs to another item.
	//   - So it does if the stored tombstone belongs to another item and is not older.
	//   - A write of a tombstone is superseded if the stored row belongs to another item.
	//
	// Default: only one item can have a row's key.
	RefuseOtherItem bool

	// InPlace means that the tombstones of rows that guard themselves are at the rows' keys. Default: they are in the
	// store's state, so that the table has live rows only.
	InPlace bool
}

// State returns the target for package state.
func (t Target) State() state.Target {
	return state.Target{Pipeline: t.Pipeline, Table: t.Name, View: t.View, Birth: t.Birth}
}

// Mutation writes one row or its tombstone, which marks the row as removed. The condition is that the stored row or
// tombstone, if there is one, has a lower version. A mutation may also replace a void tombstone of the same version,
// unless the mutation is void too.
type Mutation struct {
	PK, SK    item.Value // S, N or B; SK is absent if the table has no sort key
	Version   record.Version
	Source    item.Key // key of the item that the row belongs to
	Tombstone bool
	// only for a tombstone: no row could be made of the change, so a row of the same version may replace the tombstone
	Void       bool
	Attributes []state.Column // attributes without the key; empty for a tombstone

	// Hints with which a store needs fewer writes. A wrong hint does not change the result.
	LikelyNew bool // the row is probably not stored
	EndsMove  bool // the mutation removes the old row of a move; the mutation before it puts the new row
}

// TombstoneAt returns a tombstone of the mutation's row, in the form that is stored apart from the row. v is the
// version of the tombstone.
func (m *Mutation) TombstoneAt(v record.Version) *state.Tombstone {
	return &state.Tombstone{Version: v.String(), Source: m.Source, Void: m.Void}
}

// Result is the result of one write of a call. The zero Result means that the write is durable, by this delivery or
// an earlier one.
type Result struct {
	Superseded bool // only for a mutation: a newer row or tombstone is stored and stays
	// another writer changed the data that the write was based on, so the caller reads again; never set for a mutation
	Lost bool
	Err  error // error if the write failed; it is marked with pipeline.Transient if the write may be tried again
}

// Store writes rows that guard themselves.
//
// Target.InPlace decides where tombstones are. If InPlace is set, a tombstone is an item at the row's key, and readers
// skip it. Otherwise a tombstone is in the store's state, apart from the rows. Then one transaction deletes the row and
// writes the tombstone. A row that is not stored yet is put in one transaction with a check of its tombstone. So if two
// writers put and remove a row at the same time, one of them sees the write of the other. A stored row is always newer
// than its tombstone.
//
// Apply blocks until every successful result is durable. It returns one Result for each mutation, in order. No two
// mutations of a call have the same row. The store may apply them in any order, together or one by one. The store may
// read ms and its Attributes until Apply returns. The values in ms are ranges of the memory of a page. A store that
// keeps the values after Apply has returned copies Attributes and clones each value.
//
// An error means that the whole call failed; any of the mutations may have been applied. The error is marked with
// pipeline.Transient or pipeline.Fatal. If a row belongs to another sink, its mutation fails with a [ForeignRowError],
// whatever the versions. If Target.RefuseOtherItem is set and the row belongs to another item, the mutation fails with
// a [CollisionError].
//
// Tombstones are kept as long as older changes may still arrive. Apply may be called by several goroutines, and by
// other processes on the same table.
type Store interface {
	Apply(ctx context.Context, t Target, ms []Mutation) ([]Result, error)
}

// Query selects rows of a table.
type Query struct {
	PK       item.Value // only rows with this partition key. Default: all
	PKPrefix string     // only rows whose partition key is an S with this prefix. Default: all
	SKPrefix string     // only rows whose sort key is an S with this prefix. Default: all
	Limit    int        // maximum number of rows. Default: no limit
	Reverse  bool       // the greatest key comes first. Default: the least comes first

	From  item.Value // first sort key, in the direction of the read; requires PK. Default: all
	After bool       // exclude the row at From. Default: include it
	To    item.Value // last sort key, inclusive, in the direction of the read; requires PK. Default: all
}

// Ends reports whether the sort key sk is after To, in the direction of the read. A reader stops at the first such row.
func (q Query) Ends(sk item.Value) bool {
	return q.To.Exists() && comesAfter(sk, q.To, q.Reverse)
}

// comesAfter reports whether the sort key a comes after b, in the direction of the read.
func comesAfter(a, b item.Value, reverse bool) bool {
	order := strings.Compare(sortText(a), sortText(b))
	if reverse {
		return order < 0
	}
	return order > 0
}

// Check returns an error if the query is not valid: From and To require PK.
func (q Query) Check() error {
	limitsSortKey := q.From.Exists() || q.To.Exists()
	if limitsSortKey && !q.PK.Exists() {
		return errs.New("view: a Query with From or To, and without PK: a sort key is a place in one partition")
	}
	return nil
}

// Row is one row as a [Reader] returns it.
type Row struct {
	PK, SK        item.Value // SK is absent if the table has no sort key
	Item          item.Image // all attributes, including the key
	Version       record.Version
	Source        item.Key
	View          string
	Birth         string // birth of the output that the row belongs to ([Target]); "" if births are not recorded
	DifferingCopy string // as in [StoredRow]; only set by a listing
}

// ErrNoTable is the error of reading a table that does not exist.
var ErrNoTable = errs.New("no such view table")

// Reader reads rows sorted by partition key and sort key, or in reverse: S and B by their bytes, N by number. It leaves
// out tombstones. Several goroutines may read at once. The sequence ends with the first error. The error is
// [ErrNoTable] if the table does not exist. In some stores a table does not exist until it is first written. A row that
// is written during the read may or may not be seen.
type Reader interface {
	Rows(ctx context.Context, t Table, q Query) iter.Seq2[Row, error]
}

// Emptier is implemented by stores that may forget old changes. Empty reports whether the store has nothing of a view
// or an aggregate: no rows, tombstones, guards or contributions. If Empty returns true, the whole history may be
// replayed (state.Retention).
type Emptier interface {
	Empty(ctx context.Context, t Target) (bool, error)
}

// ItemStore writes rows that are guarded by item, because several items can claim one row. A claim is an item's request
// for a row. A guard is the stored record of an item's version and of the row that it requests. A row, the claims on it
// and the guards of the items change together or not at all.
//
// All methods block, and may be called by several goroutines and by other processes on the same tables. An error
// means that the whole call failed. It is marked with pipeline.Transient or pipeline.Fatal.
type ItemStore interface {
	// Guards reads the guards of items consistently, in the order of items. The zero Guard means that the item is
	// unknown.
	Guards(ctx context.Context, t state.Target, items []item.Key) ([]state.Guard, error)

	// RowClaims reads rows with all their claims consistently, in the order of rows.
	RowClaims(ctx context.Context, t Target, rows []state.Row) ([]RowClaims, error)

	// WriteItems applies ws in order, each of them completely or not at all, and returns one Result for each. A write
	// is Lost if another writer has changed the guard (its version or Void), or the claims on a row, since they were
	// read. A write may depend on an earlier write of the same call. It then expects the version and the revisions that
	// the earlier write stores, and it is lost if the earlier write is lost. A write puts the owner's row even if the
	// owner stays the same. A successful result is durable. The values in ws are ranges of the memory of a page. A store
	// that keeps them after the call clones them.
	WriteItems(ctx context.Context, t Target, ws []state.ItemWrite) ([]Result, error)
}

// ClaimLister is implemented by an [ItemStore] that lists rows on which claims wait.
type ClaimLister interface {
	// ContestedRows yields the rows of a view on which claims wait. It may read the whole state of all sinks. If the
	// claims on a row change during the read, the row may be missing or outdated. The sequence ends with the first
	// error.
	ContestedRows(ctx context.Context, t state.Target) iter.Seq2[state.ContestedRow, error]
}

// RowClaims is a row with all claims on it.
type RowClaims struct {
	state.RowClaims
	Foreign *ForeignRowError // error if the row belongs to another sink and cannot be claimed; nil if it can be claimed
}

// ItemRowsStore writes the rows of items that have several rows ([Options.ForEach]). The contribution of an item is the
// stored record of its rows. It has a share for each row. The contribution and the rows change together or not at all.
//
// All methods block, and may be called by several goroutines and by other processes on the same tables. An error
// means that the whole call failed. It is marked with pipeline.Transient or pipeline.Fatal.
type ItemRowsStore interface {
	// Contributions does the same as [GroupStore.Contributions].
	Contributions(ctx context.Context, t state.Target, items []item.Key) ([]state.Contribution, error)

	// ReplaceItemRows applies ws, each of them completely or not at all, and returns one Result for each. A write is
	// Lost if the stored contribution differs from the expected one in any field. A write fails with a
	// [ForeignRowError] if a row to put belongs to another sink, and with a [CollisionError] if it belongs to another
	// item. No two writes of a call have the same item. The values in ws are ranges of the memory of a page. A store
	// that keeps them after the call clones them. A successful result is durable.
	ReplaceItemRows(ctx context.Context, t Target, ws []state.ItemRowsWrite) ([]Result, error)

	// MaxActions returns the maximum number of rows that one write may change, plus one for the contribution; 0 if
	// there is no maximum.
	MaxActions() int
}

// GroupStore writes the rows of aggregates. The contribution of an item is the stored record of what it counts for. The
// contributions of items and the rows of their groups change together or not at all.
//
// All methods block, and may be called by several goroutines and by other processes on the same tables. An error
// means that the whole call failed. It is marked with pipeline.Transient or pipeline.Fatal.
type GroupStore interface {
	// Contributions reads the contributions of items consistently, in the order of items. The zero Contribution means
	// that the item is unknown.
	Contributions(ctx context.Context, t state.Target, items []item.Key) ([]state.Contribution, error)

	// Contribute applies ws, each of them completely or not at all, and returns one Result for each. A write is Lost if
	// another writer has changed a contribution since it was read. The store compares Version and Void. With
	// CompareShares it also compares Since and Shares. A write fails with a [ForeignRowError] if a group's row belongs
	// to another sink. No two writes of a call have the same item, but they may have the same groups. A successful
	// result is durable.
	Contribute(ctx context.Context, t Target, ws []state.GroupWrite) ([]Result, error)

	// MaxActions returns the maximum number of actions of one GroupWrite; 0 if there is no maximum. Each item, each
	// [state.GroupChange] and each [state.Member] is an action.
	MaxActions() int
}

// Inspector reads the stored rows at given keys. Unlike a [Reader], it also reads tombstones, which show why a row is
// missing.
type Inspector interface {
	// StoredRows reads rows of a view or an aggregate consistently, in the order of rows. It also reads tombstones,
	// both in place and apart. The zero StoredRow means that nothing is stored at the key. The error is ErrNoTable if
	// the table does not exist.
	StoredRows(ctx context.Context, t Target, rows []state.Row) ([]StoredRow, error)
}

// StoredRow is the row or the tombstone that is stored at a key.
type StoredRow struct {
	Exists    bool
	Tombstone bool // the row was removed, and older changes are refused
	// the tombstone is at the row's key. If Target.InPlace is false, such a tombstone was put there by hand
	InPlace  bool
	Version  record.Version // version of the change or repair that wrote the row or tombstone
	Source   item.Key       // key of the item that the row belongs to; "" for a group
	View     string         // name of the sink that owns the row
	Pipeline string         // name of the pipeline that owns the row
	Birth    string         // birth of the output that the row belongs to ([Target]); "" if births are not recorded
	Item     item.Image     // all attributes, including the key, without _tw
	// name of the store's copy of the row for other readers, if the copy does not match the row; "" if it matches, or
	// if there is no copy
	DifferingCopy string
	Expires       time.Time // time from which on a tombstone may be deleted; zero if never
	// text that identifies the last repair of the row; "" if the row was not repaired, or if the store needs no
	// revision
	Revision string
}

// StoredTombstone returns the StoredRow of a tombstone that is apart from its row.
func (t Target) StoredTombstone(apart *state.Tombstone) (StoredRow, error) {
	version, err := record.ParseVersion(apart.Version)
	return StoredRow{
		Exists: true, Tombstone: true, Version: version, Source: apart.Source, View: t.View, Pipeline: t.Pipeline,
		Birth: t.Birth, Expires: apart.Expires,
	}, err
}
