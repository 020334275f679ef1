// Package view writes materialized views of the items of a table. An item that matches the view's condition has one
// row, whose key and attributes are templates over the item. An item that does not match has no row.
//
// # Promises
//
// A view is a function of the items. Any part of the stream may be replayed any number of times. The items may come in
// any order, and several consumers may read at different speeds. In every case the rows are the same as after one
// ordered pass over the stream. The row key decides how the view ensures this ([Sink.GuardMode]).
//
// If the row key identifies the item, the row belongs to this item only. It then guards itself: its own version
// protects it from late writes. Such a row key has {@key}, every key attribute with |esc, or every name of
// [Options.Unique]. The rules are:
//
//   - Each row and tombstone has the version of the change that wrote it. A write replaces a row or tombstone only if
//     the stored version is lower.
//   - A removed row leaves a tombstone with the version of the change. A late write of an older version changes
//     nothing. A newer row at the same key replaces the tombstone.
//   - By default tombstones are apart from the rows, in the store's state. So the table has live rows only. A row is
//     removed in one transaction with the write of its tombstone, and a new row is put in one transaction with a check
//     of its tombstone. Therefore a stored row is always newer than its tombstone, and an update is one put, on
//     condition that an older version of the row is stored.
//   - With [Options.InPlace], a tombstone is at the key of its row. Then each write is one conditional put, and readers
//     skip tombstones.
//   - A move writes the row at the new key and a tombstone at the old key. Each of the two writes is conditional on the
//     version that is stored at its key. If tombstones are apart from the rows, one transaction makes both writes,
//     unless one of them is superseded. After a crash between two separate writes, the change is delivered again until
//     both are durable.
//
// In all other views several items may claim one row: each of them requests it. Each item then has a guard, which
// records the item's last version and the row that the item claims:
//
//   - A change of the item changes three things in one transaction: the guard, the row that the item leaves, and the
//     row that it claims. The condition is that none of the three changed since it was read.
//   - One item owns the row: the item with the smallest key, whatever the order of arrival ([KeepLast] has another
//     order). The claims of the other items wait. If the owner leaves the row, or an item with a smaller key claims it,
//     the owner changes in the same transaction. [Collision] decides the result of a change whose claim waits.
//   - The old image has no influence, because the guard has the former row. So after a start in the middle of the
//     stream, or after a gap, the next change of the item corrects its row. An item that never claimed a row has no
//     guard.
//
// If no row can be made of the new image, or if the store refuses the row permanently, the item's row is removed, and
// the change is dead-lettered. The tombstone or guard of this removal is marked void, which means that a change of the
// same version may replace it. Later changes of the item are applied as usual. After the settings are corrected, a
// redrive delivers the change again, and the change replaces the void tombstone or guard. So after a redrive of all
// dead letters of an item, the rows are those of one ordered pass.
//
// A change is also dead-lettered if no row key can be made of its old image. It is written and dead-lettered. The
// item's preceding change is redriven first.
//
// An item may have a row for each element of a list, a set or a map ([Options.ForEach]). Each row belongs to one
// element of one item. The contribution of an item records which rows the item has at one version. It orders the writes
// of these rows. item_rows.go lists the states of a contribution and the races.
//
// A hot partition may be spread over shards, which are partitions of the table ([Options.Shards]). Then the partition
// key of a row contains the number of the item's shard, which is a hash of the item's key, modulo the number of shards.
// The sort key contains the item's key, so that the row guards itself. [Partition] reads the shards as one partition.
//
// A removed item has no row, whether a user or TTL removed it. An item whose row key misses a value is sparse: it has
// no row.
//
// # Aggregates
//
// An [Aggregate] has a row for each group of items, with counts, sums and other values of the group. It is a function
// of the items, too. Package state explains why no item is counted twice. The rules are:
//
//   - The contribution of an item records what the item counts for. It is made of the new image, and has one share for
//     the item, or one share for each element of a list. Each share counts in one group. If a part of the group key is
//     missing, the share counts nowhere. If a value is missing, the share adds nothing to that value of the group.
//   - A change replaces the stored contribution of its item, and the groups change by the difference. The contribution
//     and the groups change in one transaction, on condition that the contribution did not change since it was read. If
//     the contribution changed, the item is read again. Old images have no influence on values. If the item counts for
//     nothing, and counted for nothing before by its old image, nothing is stored.
//   - The changes of a batch are applied in memory, item by item. Then the differences of all items are added up, so
//     that each group is written once. If a store limits the size of transactions, the items of a batch are spread over
//     several transactions. If one item is too large for a transaction, its change fails with a [TooManyGroupsError].
//   - Sums and counts are exact at any length: a sum of more than 38 digits is stored as an S. A min, max or distinct
//     is computed from the values of all items that are in the group. So it is also correct after an item leaves the
//     group.
//   - An item that cannot be counted counts for nothing, and its contribution is marked void. This lasts until a change
//     of the item can be counted.
//   - An item that TTL removed leaves its groups, unless the aggregate keeps expired items. Then the shares of the
//     item's last image stay counted permanently. An item that is inserted later under the same key counts in addition.
//   - A group may be spread over shards ([AggregateOptions.Shards]). Each shard has a row, whose partition key ends
//     with ~0, ~1 and so on. Each row counts the items of its shard. Equal values of a distinct are always in the same
//     shard, so that readers can add up the distincts. [GroupRows] reads the shards as one row.
//   - A row is deleted when no item counts in it any more.
//
// # Reading order
//
// sink_base.go has the common part of views and aggregates, and store.go the interfaces to stores. The package itself
// has no store: a [Store], an [ItemStore] or a [GroupStore] writes, and a [Reader] reads. write_rounds.go has the loop
// of each Write.
//
// A view: [Sink.Plan] is pure, and [Sink.Write] writes (view_sink.go). guard_mode.go decides whether rows guard
// themselves. row_plan.go finds the rows of the old and the new image, and row_key.go builds their keys.
// operation_batch.go orders the ops of a Write, so that each row or item is written once.
//
//   - Rows that guard themselves: Plan, planRow, locationBefore and locationAfter, planOps and columns (row_move_plan.go);
//     then Write, writeRows, Store.Apply. write_hints.go saves writes.
//
//   - Rows guarded by item: Plan, planClaim (planned_claim.go); then Write, writeClaims, claimWrite.writeRound
//     (claim_write.go). A round reads guards and claims, calls compareWithGuard and applyClaim (claim_guard.go,
//     row_claims.go, both pure), and commits with ItemStore.WriteItems.
//
//   - Rows of elements: Plan, planItemRows (item_rows_plan.go); then Write, writeItemRows, itemRowsWrite.writeRound
//     (item_rows_write.go), nextPart (item_rows_parts.go), ItemRowsStore.ReplaceItemRows.
//
// A repair ([Repairer], [GroupRepairer], repair_interfaces.go) replaces rows that a comparison found to be wrong.
// repair_plans.go makes the writes for guards, claims and contributions.
//
// An aggregate: [Aggregate.Plan] finds the shares of an image (aggregate_plan.go). [Aggregate.Write] reads, applies and
// commits (aggregate_write.go). Between reading and committing, itemChanges.advance applies the changes of one item
// (aggregate_item_changes.go), and deltaBuilder.build makes the deltas of its groups (aggregate_delta_builder.go,
// aggregate_deltas.go). Both functions are pure.
//
// Readers of shards: group_rows.go and group_shards_reader.go add up groups, sharded_partition.go merges the rows of a
// partition, and row_order.go has the code that both use.
package view
