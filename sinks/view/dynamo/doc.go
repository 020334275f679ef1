// Package dynamo keeps the rows of views in DynamoDB tables.
//
// Every write has a condition. So any number of processes may write a table at the same time, and a write may come late
// or twice. The guards and contributions of items are in the state table (package sinks/state/dynamo). Rows that
// several items may claim change in one transaction with the guards, and rows of aggregates with the contributions. If
// the tombstones of rows that guard themselves are apart, they are in the state table, too, and a row changes in one
// transaction with its tombstone:
//
//	the row    writes                                              write units at 1 KB
//	stays      a put over a lower version                          1
//	enters     a put, and a check of the tombstone                 4
//	leaves     a deletion, and the tombstone                       4
//	moves      both                                                8 at most
//
// If a row that should stay is not stored, it is written like a row that enters. With tombstones in place, each row or
// tombstone is one conditional PutItem. The four cases then cost 1, 1, 1 and 2 units. Two kinds of views need
// tombstones in place. One kind has a table that no transaction can write together with the state table
// ([dynamo.DB.WhyNoTransaction]). Such a table is in another account or Region, or has multi-Region strong consistency.
// The other kind has no state table ([Rows]).
//
// # Attributes of the store
//
// Names that begin with _tw belong to the store:
//
//   - _tw, a map, has the owner of the row. In _tw, v is the version of the change, and src is the key of the item. The
//     pipeline is in by, the sink in view, and the id of the sink's output in birth. A repaired row also has rev, a
//     text that identifies the repair.
//   - _tw_expires, a number, makes the item a tombstone in place: the row was removed, and older changes are refused.
//     It is the table's TTL attribute ([Store.Create]), so TTL deletes the tombstone after the retention. A newer row
//     at the key replaces the tombstone. Readers other than [Reader] must leave such items out, with the filter
//     attribute_not_exists(#e). If tombstones are apart, there are no such items.
//
// # Aggregates
//
// One transaction writes the contributions of items and the rows of their groups. Each contribution is written on
// condition that it did not change since it was read. Package sinks/state explains why each item therefore counts once.
//
//   - If the sum is certainly exact (DynamoDB keeps 38 digits), an amount is added in place, without reading the row.
//     Otherwise the row is read, the amount is added in memory, and the row is written on condition that no other
//     writer has written it since. A sum is an N if a number can hold it. Otherwise its text is an S, as in every store
//     of views.
//   - The members of a min, max or distinct are items of the state table, in the order of their values. The row has the
//     value that is computed from its members. It is written in the same transaction as the members, on condition that
//     it has not changed since it was read.
//   - A row is deleted in the transaction that removes its last share.
//
// Writers of one process write a row one after the other. If writers of several processes conflict, one succeeds, and
// the other writers try again. A group that many items change at the same time should be spread over shards.
//
// The row of a group also has the attribute _tw_shares, the number of shares that count in it. In its _tw, rev
// identifies the last write, and v is the highest version of the changes in the last write. If the row has members,
// _tw_epoch distinguishes them from the members of an earlier row at the same key.
//
// # Limits of DynamoDB
//
// A key attribute has one type in the whole table, and is not empty. A partition key has at most 2048 bytes, a sort key
// 1024, and an item 400 KB. If a row exceeds a limit, its change fails permanently, and the error names the limit.
//
// # Reading order
//
// store.go has the types. row_item.go makes the item of a row and the condition on its owner. There are four calls that
// write. In each list below, the last function handles a transaction whose conditions were not met:
//
//   - [Store.Apply] (mutation_apply.go): rowWriter.writeInPlace, or writeApart, update and writeTransaction
//     (separate_tombstones.go); handleUnmet.
//
//   - [Store.WriteItems] (claim_transactions.go, row_claims.go): connectedWrites, settleConnected, commit;
//     unmetClaimsResult.
//
//   - [Store.Contribute] (group_write.go): groupWriter.run, tryOnce, addAction (group_add.go) or appendReplace
//     (group_replace.go); noteUnmet.
//
//   - [Store.ReplaceItemRows] (item_rows.go): itemRowsWriter.run; dropForeignDeletes.
//
// [Store.RepairRows] (repair_rows.go) and [Store.RepairGroups] (repair_groups.go) replace a row on condition that it is
// stored as a comparison read it. Of two repairs that read the same row, only one succeeds. Each repair gives the row a
// new rev in _tw, by which a put that is sent again recognizes the row that it wrote.
//
// The package sinks/internal/rowqueue orders the writers of one process. [Reader] (row_reader.go) leaves out tombstones
// and the store's attributes; [Reader.StoredRows] (row_inspector.go) returns them. sink_output.go counts the rows of a
// sink for package state. [CostOf] (write_cost.go) estimates what a planned change costs.
package dynamo
