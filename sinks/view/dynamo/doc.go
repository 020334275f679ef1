// Package dynamo keeps the rows of views in DynamoDB tables.
//
// Every write has a condition, so that any number of processes may write a table at the same time, late or twice. Rows
// that several items may claim, and rows of aggregates, change in one transaction with the guards and contributions of
// the items in the state table (package sinks/state/dynamo). So do rows that guard themselves and their tombstones, if
// these are apart:
//
//	the row    writes                                              write units at 1 KB
//	stays      a put over a lower version                          1
//	enters     a put, and a check of the tombstone                 4
//	leaves     a deletion, and the tombstone                       4
//	moves      both                                                8 at most
//
// If a row that should stay is missing, it is written as one that enters. With tombstones in place each row or tombstone
// is one conditional PutItem: 1, 1, 1 and 2 units. That is for tables that no transaction can write together with the
// state table ([dynamo.DB.WhyNoTransaction]): tables of another account or Region, or with multi-Region strong
// consistency. It is also for views without a state table ([Rows]).
//
// # Attributes of the store
//
// Names that begin with _tw belong to the store:
//
//   - _tw, a map, has the owner of the row: v, the version of the change; by, the pipeline; view, the sink; birth, the id
//     of the sink's output in the state; src, the key of the item; rev, of a repaired row, a text of the repair. An item
//     without _tw was written by someone else and is never overwritten.
//   - _tw_expires, a number, makes the item a tombstone in place: the row was removed, and older changes of it are
//     refused. It is the table's TTL attribute ([Store.Create]): TTL deletes the tombstone after the retention. A newer
//     row at the key replaces it. Readers other than [Reader] leave such items out, with the filter
//     attribute_not_exists(#e). If tombstones are apart, there are none.
//
// # Aggregates
//
// One transaction writes the contributions of items, each on condition that it did not change since it was read (package
// sinks/state explains why that counts once), and the rows of their groups:
//
//   - An amount is added in place, without reading the row, if the sum is certainly exact: DynamoDB keeps 38 digits. All
//     other amounts are read, added here, and written on condition that nobody wrote the row since. A sum is an N if a
//     number can hold it, otherwise its text is an S, as in every store of views.
//   - The members of a min, max or distinct are items of the state table, in the order of their values. The result is in
//     the row, which is written in the same transaction, on condition that it is the row that was read.
//   - A row is deleted in the transaction that removes its last share.
//
// Writers of one process write a row one after the other. Writers of other processes conflict, and the loser tries again.
// A group that many items change at the same time should be spread over shards. Besides _tw, in which rev identifies the
// last write and v is the version of one of its changes, such a row has _tw_shares, the number of shares that count in
// it. If it has members, _tw_epoch distinguishes them from those of an earlier row at the same key.
//
// # Limits of DynamoDB
//
// A key attribute has one type in the whole table, and is not empty. A partition key has at most 2048 bytes, a sort key
// 1024, an item 400 KB. A row beyond a limit is a permanent error of its change, and the error names the limit.
//
// # Reading order
//
// store.go has the types, row_item.go the item of a row and the condition on its owner. Four calls write, and each has
// one function that handles a transaction whose conditions were not met:
//
//   - [Store.Apply] (apply.go): rowWriter.writeInPlace, or writeApart, update and writeTransaction (apply_apart.go);
//     rowsRefused.
//
//   - [Store.Settle] (claims_settle.go, claims.go): connectedWrites, settleConnected, commit; claimsRefused.
//
//   - [Store.Contribute] (groups.go): groupWriter.run, tryOnce, addAction (group_add.go) or appendReplace
//     (group_replace.go); groupsRefused.
//
//   - [Store.ReplaceItemRows] (item_rows.go): itemRowsWriter.run; withoutForeign.
//
// [Store.RepairRows] (repair_rows.go) and [Store.RepairGroups] (repair_groups.go) write on condition that what a comparison
// read is still stored. Repairs keep the version, so each gives the row a new rev in _tw, by which they exclude each
// other.
//
// Package rowqueue orders the writers of one process. [Reader] (reader.go) leaves out tombstones and the store's attributes;
// [Reader.StoredRows] (inspect.go) returns them. output.go inspects a table for the state. [CostOf] (cost.go) estimates
// what a planned change costs.
package dynamo
