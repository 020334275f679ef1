// Package dynamo keeps the rows of views in DynamoDB tables.
//
// Nothing is written without a condition, so that any number of processes may write a table
// at once, late or twice. Rows that several items may claim, and rows of aggregates, change in
// one transaction with what is remembered of the items, which is in the state table (package
// sinks/state/dynamo). So do rows that guard themselves and the tombstones that are apart
// from them:
//
//	the row    writes                                              write units at 1 KB
//	stays      a put over a lower version                          1
//	enters     a put, and a check of the tombstone                 4
//	leaves     a deletion, and the tombstone                       4
//	moves      both                                                8 at most
//
// If a row that should stay is missing, it is written as one that enters. With tombstones in
// place each row or tombstone is one conditional PutItem: 1, 1, 1 and 2 units. That is for tables
// that no transaction can write together with the state table ([dynamo.DB.WhyNoTransaction]):
// tables of another account or Region, or with multi-Region strong consistency. It is also for
// views without a state table ([Rows]).
//
// # What a row has besides its attributes
//
// Names that begin with _tw are the store's:
//
//   - _tw, a map, says what the row belongs to: v, the version of the change; by, the pipeline;
//     view, the sink; birth, the id of the sink's output in the state; src, the key of the item.
//     An item without it was made by someone else and is never overwritten.
//   - _tw_expires, a number, makes the item a tombstone in place: the row is gone, and older
//     changes of it are refused. It is the table's TTL attribute ([Store.Create]): the
//     tombstone goes when it is older than the retention. A newer row at that key replaces it.
//     Whoever reads the table without a [Reader] leaves such items out, as with the filter
//     attribute_not_exists(#e). Where tombstones are apart there are none.
//
// # Aggregates
//
// One transaction writes what items count for now, each on condition of the version that was
// read (package sinks/state says why that counts once), and the rows of their groups:
//
//   - An amount is added where it stands, without reading the row, where that is exact for
//     certain: DynamoDB keeps 38 digits of a sum. All else is read, reckoned, and written back
//     on condition that nobody wrote the row meanwhile. A sum is an N as long as one can hold
//     it, and its text beyond that, as in every store of views.
//   - What a min, a max or a distinct is made of are items of the state table, in the order of
//     their values. What they come to stands in the row, which is written with them, and on
//     condition that it is the row that was read.
//   - A row goes in the transaction that takes its last share.
//
// Writers of one process take turns at a row; those of others meet it in conflicts, which
// are tried again. A group that many items change at once is best spread over shards. Besides
// _tw, where rev names the last write and v is the version of one of its changes, such a row
// has _tw_shares, how many shares count in it, and where it has members _tw_epoch, which tells
// them from those of a row that was there before.
//
// # What is looked at
//
// [Reader] leaves out tombstones and the names that begin with _tw; [Reader.Stands] shows what
// it leaves out. [CostOf] tells in DynamoDB's units what a planned change costs.
//
// # What DynamoDB does not hold
//
// A key attribute has one type in all of a table, and is not empty; a partition key is
// 2048 bytes at most, a sort key 1024, an item 400 KB. A row beyond that is a permanent
// error of its change, and says which limit it is over.
package dynamo
