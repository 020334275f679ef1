// Package view writes materialized views of the items of a table. An item that matches the view's condition has one
// row, whose key and attributes are templates over the item. An item that does not match has no row.
//
// # Promises
//
// A view is a function of the items. Any part of the stream may be replayed, any number of times, in any order across
// items, by several workers at different speeds. The rows are then the same as after one ordered pass. The row key
// decides how the view ensures this ([Sink.GuardMode]).
//
// A row guards itself if its row key contains the item's key: by {@key}, or by every key attribute with |esc. Such a
// row belongs to one item only:
//
//   - A write replaces a row or tombstone only if the stored version is lower. The version of a row is that of its
//     change.
//   - A removed row leaves a tombstone with the version of the change. A late write of an older version changes
//     nothing. A newer row at the same key replaces the tombstone.
//   - By default tombstones are apart from the rows, in the store's state, so that the table has live rows only. Row
//     and tombstone change in one transaction, and a stored row is always newer than its tombstone. So an update is one
//     put that requires the stored row, and a new row is put with a check of its tombstone. With InPlace, tombstones
//     are at the rows' keys. Then each write is one conditional put, and readers skip tombstones.
//   - A move is a row at the new key and a tombstone at the old key. Each is conditional on its own version. If
//     tombstones are apart, both are one transaction, unless one of them is superseded. After a crash between the two,
//     the change is delivered again until both are durable.
//
// In all other views several items may claim one row, and a guard of the item decides about its row:
//
//   - The guard of an item is its last version and the row that it claims. The guard, the row that the item leaves and
//     the row that it claims change in one transaction, on condition that none of them changed since it was read.
//   - One claim owns the row: the one of the item with the smallest key, in any order of arrival. The other claims
//     wait. If the owner leaves or a smaller key arrives, the owner changes in the same transaction. [Collision]
//     decides the result of a change whose claim waits.
//   - The old image has no influence. So after a start in the middle of the stream, or after a gap, the next change of
//     the item corrects its row. An item that never claimed a row has no guard.
//
// If no row can be made of an image, or the store refuses the row permanently, the item's row is removed with a
// tombstone or guard that is marked void, and the change is dead-lettered. Later changes of the item continue from
// there. After the settings are corrected, the same change replaces the void tombstone or guard. So a redrive of all
// dead letters of an item results in the rows of one ordered pass. A change is also dead-lettered if no row key can be
// made of its old image, although the change is written. It must be redriven after the change before it.
//
// An item may have a row for each element of a list, a set or a map ([Options.ForEach]). Each row belongs to one
// element of one item. The contribution of the item orders the writes of its rows: item_rows.go has the states and the
// races.
//
// A hot partition may be spread over shards ([Options.Shards]). Then the partition key contains the shard of the item,
// which is a hash of its key. The sort key contains its key, so that the row guards itself. [Partition] reads the
// shards as one partition.
//
// A removed item has no row, whether a user or TTL removed it. An item whose row key misses a value is sparse: it has
// no row.
//
// # Aggregates
//
// An [Aggregate] has a row for each group of items, with counts, sums and other values of the group. It is a function
// of the items, too. Package state explains why no item is counted twice. The rules are:
//
//   - The contribution of an item is made of its new image: one share, or one share for each element of a list. A share
//     whose group key misses a part counts nowhere. A share that misses a value adds nothing to that value.
//   - A change replaces the stored contribution, and the groups change by the difference. Both change in one
//     transaction, on condition that the contribution did not change since it was read. If it changed, the item is read
//     again. Old images have no influence on values. If an item counts for nothing and did so before, by its old image,
//     nothing is stored.
//   - The changes of a batch are applied in memory, item by item. The result is written once, merged by group. If a
//     store limits transactions, a batch is split between items. If one item is too large for a transaction, its change
//     fails with a [TooManyGroupsError].
//   - Sums and counts are exact at any length: a sum of more than 38 digits is stored as an S. A min, max or distinct
//     is computed from the values that the group's items have now, so that it is correct after an item leaves.
//   - An item that cannot be counted counts for nothing until it can. Its contribution is marked void.
//   - An item that TTL removed leaves its groups, unless the aggregate keeps expired items. Then the shares of the old
//     image of the expiry stay counted permanently, and an insert of the same key counts in addition.
//   - A group may be spread over shards ([AggregateOptions.Shards]). Their rows have ~0, ~1 and so on after the
//     partition key. Each row counts the items of its shard. Equal values of a distinct are in one shard. [GroupRows]
//     reads the shards as one row.
//   - A row is deleted when no item counts in it any more.
//
// # Reading order
//
// plan_base.go has the common part of views and aggregates, and store.go the interfaces to stores. The package itself
// has no store: a [Store], an [ItemStore] or a [GroupStore] writes, and a [Reader] reads. write_rounds.go has the loop
// of each Write.
//
// A view: [Sink.Plan] is pure, and [Sink.Write] writes (sink.go). guard_mode.go decides whether rows guard themselves.
// plan.go finds the rows of the old and the new image, and row_key.go builds their keys. op_batch.go orders the ops of
// a Write, so that each row or item is written once.
//
//   - Rows that guard themselves: Plan, planRow, locationBefore and locationAfter, planOps (row_ops.go); then Write,
//     writeRows, Store.Apply. write_hints.go saves writes.
//
//   - Rows guarded by item: Plan, planClaim (claim_op.go); then Write, writeClaims, claimWrite.writeRound
//     (claim_write.go). A round reads guards and claims, calls compareWithGuard and applyClaim (claim_guard.go,
//     row_claims.go, both pure), and commits with ItemStore.WriteItems.
//
//   - Rows of elements: Plan, planItemRows (item_rows_plan.go); then Write, writeItemRows, itemRowsWrite.writeRound
//     (item_rows_write.go), nextPart (item_rows_parts.go), ItemRowsStore.ReplaceItemRows.
//
// A repair ([Repairer], [GroupRepairer], repair.go) needs no plan. It replaces rows that a comparison found to be
// wrong, and keeps their versions.
//
// An aggregate: [Aggregate.Plan] finds the shares of an image (aggregate_plan.go). [Aggregate.Write] reads, applies and
// commits (aggregate_write.go). In between, itemChanges.advance applies the changes of one item
// (aggregate_item_changes.go), and deltaBuilder.build makes the deltas of its groups (aggregate_delta_builder.go,
// aggregate_deltas.go); these are pure.
//
// Readers of shards: groups.go and groups_read.go add up groups, read_partition.go merges the rows of a partition, and
// row_order.go has the code that both use.
package view
