// Package view keeps materialized views in step with the items of a table: an
// item that matches the view's condition has one row, whose key and attributes
// are templates over the item, and an item that does not has none.
//
// # What is promised
//
// A view is a function of the items. Replaying any part of the stream, any
// number of times, in any order across items, from several workers of which one
// lags behind, leaves the rows that one clean pass would leave. Three rules
// make it so:
//
//   - A row guards itself. It is written only over a row of a lower version, the
//     version being that of the change. That is sound because a row belongs to
//     one item alone: its key must decode back to the item's key, by {@key} or by
//     every key attribute with |esc. Rows that several items may claim need a
//     guard at the item, which is the capability "state"; [New] and Plan refuse them.
//   - A row that goes away leaves a tombstone at its key, with the version of
//     the change. Readers skip it; a late write loses against it; the item's next
//     row at that key, which is newer, wins.
//   - Whatever touches a row is one conditional write. A move is two of them, a
//     row at the new key and a tombstone at the old one, each conditional on the row it
//     writes: either order, a crash between the two, or only one of them again
//     all end alike, because the change is delivered again until both are durable.
//
// Deletes need no rule of their own: an item that is gone, by a user or by TTL,
// has no row. An item whose row key misses a value is sparse: it has none either.
//
// # Where things are
//
// [Sink] plans ([Sink.Plan], pure) and writes. plan.go finds the row before and
// after a change, move.go decides what that means for the store, row.go builds
// rows, batch.go writes each row once a batch. The package knows no driver:
// a [Store] writes, and a [Reader] reads.
package view
