// Package dynamo keeps the rows of views in DynamoDB tables.
//
// Nothing is written without a condition. A row that guards itself is one conditional
// PutItem, over a lower version alone, so that any number of processes may write a table at
// once, late or twice. Rows of aggregates change in one transaction with what is remembered
// of the items, which is in the state table (package sinks/state/dynamo).
//
// # What a row has besides its attributes
//
// Names that begin with _tw are the store's:
//
//   - _tw, a map, says what the row is of: v, the version of the change; by, the pipeline;
//     view, the sink that the row belongs to; src, the key of the item. An item without it
//     was made by someone else and is never overwritten.
//   - _tw_expires, a number, makes the item a tombstone: the row is gone, and older changes
//     of it are refused. It is the table's TTL attribute ([Store.Create]): the tombstone
//     goes when it is older than the retention. A newer row at that key replaces it. Whoever
//     reads the table without a [Reader] leaves such items out, as with the filter
//     attribute_not_exists(#e).
//
// # What DynamoDB does not hold
//
// A key attribute has one type in all of a table, and is not empty; a partition key is
// 2048 bytes at most, a sort key 1024, an item 400 KB. A row beyond that is a permanent
// error of its change, and says which limit it is over.
package dynamo
