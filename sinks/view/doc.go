// Package view keeps materialized views in step with the items of a table: an
// item that matches the view's condition has one row, whose key and attributes
// are templates over the item, and an item that does not has none.
//
// # What is promised
//
// A view is a function of the items. Replaying any part of the stream, any
// number of times, in any order across items, from several workers of which one
// lags behind, leaves the rows that one clean pass would leave. How is decided by
// the row key ([Sink.Guard]).
//
// A row guards itself where its key decodes back to the item's key, by {@key} or by
// every key attribute with |esc, so that it belongs to one item alone:
//
//   - It is written only over a lower version, of the row or of its tombstone, the version
//     being that of the change.
//   - A row that goes away leaves a tombstone with the version of the change. A late write
//     loses against it; the item's next row at that key, which is newer, wins.
//   - Tombstones are apart, in the store's state, so that the table holds live rows only: the
//     row and its tombstone change in one transaction, and a row that is in the table is above
//     its tombstone. So a row that stays is one put, which demands that it is there, and one
//     that enters is put with a check of its tombstone. Or they are in place, at the row's key
//     (InPlace): then whatever touches a row is one conditional write, and readers leave
//     tombstones out.
//   - A move is two of them, a row at the new key and a tombstone of the old one, each
//     conditional on its own row. Apart, they are one transaction, unless a newer version has
//     one of the two; either order, a crash between the two, or only one of them again all end
//     alike, because the change is delivered again until both are durable.
//
// Everywhere else several items may ask for a row, and the item guards it:
//
//   - What is known of an item is the version that was seen last and the row that it
//     asks for. It changes in one transaction with the row that the item leaves and the one
//     that it comes to, on condition that none of the three is other than it was read.
//   - A row has an owner, and the other claims wait: of the items that claim it now
//     the one with the smallest key holds it, in whatever order they came. When the owner leaves,
//     or one with a smaller key comes, the row changes hands in the same transaction. What a
//     claim that waits means for its change is the view's [Collision].
//   - The old image has no say, so that a start in mid-stream and a gap heal at the
//     item's next change. An item that never asked for a row is not written down.
//
// An image that no row can be made of, or whose row the store refuses for good, leaves
// nothing behind: the row that the item had goes, void, and the change goes to dead letters.
// Later changes of the item go on from there. When the settings were mended, the same version
// replaces the void, and nothing else at that version; redriving all letters of an
// item then leaves what a clean pass leaves. A change whose old image makes it impossible to tell
// where the row of the spoilt one would be is written, and is a letter too, so that it
// comes again behind that one.
//
// Deletes need no rule of their own: an item that is gone, by a user or by TTL,
// has no row. An item whose row key misses a value is sparse: it has none either.
//
// # Aggregates
//
// An [Aggregate] has a row for each group of items, with what they come to together. It
// is a function of the items as a view is, and holds to the same promise. Package state
// says why it can't count twice; the rules are:
//
//   - What an item counts for is its new image's to say: one share, or one for each
//     element of a list. A share whose group key misses a part counts nowhere. A share that lacks
//     a value counts, and that value adds nothing.
//   - A change replaces what is stored of the item, and its groups change by the difference,
//     in the same transaction and on condition that the version which was read is still there.
//     Where it is not, the item is read again. An old image has no part in any value; where
//     it shows that an item which counts for nothing did so before, nothing is written down of it.
//   - The changes of a batch are stepped through in memory, item by item, and what they
//     come to is written once, merged by group. A batch is split between items where a
//     transaction is limited; an item that is too much for one alone is a [TooManyGroupsError].
//   - Sums and counts are exact at any length: beyond the 38 digits of an N a sum is an S.
//     The least, the greatest and the number of different values are of the values that the
//     group's items have now, so that they are right when one of them goes.
//   - An item that can't be counted counts for nothing, void, until it can be. Where expired
//     items are kept, its expiry goes to dead letters behind the change that can't be counted.
//   - A TTL delete is a delete, unless the aggregate keeps what expires: then it stays in
//     the groups for ever, and an insert of the same key counts anew.
//   - A group spread over shards ([AggregateOptions.Shards]) has rows at its partition
//     key with ~0, ~1 and so on behind it, each with the part that its items count for. Equal values
//     of a distinct meet in one of them. [Groups] reads the parts as one row.
//   - A row goes when nothing counts in it any more.
//
// # Where things are
//
// rounds.go has the loop of every Write, and judges what a store returns. base.go is what views and aggregates
// have in common.
//
// [Sink] plans ([Sink.Plan], pure) and writes. plan.go finds the row of an image,
// row.go builds it, guard.go chooses between the two ways. Where a row guards itself,
// move.go decides what a change means for it. Where the item does, claim.go says what the
// item asks for; step.go and row_claims.go, pure as well, what that means for its guard and
// for the rows; settle.go reads, steps, commits, and reads again what was lost to others.
// batch.go writes each row, or each item, once a batch.
//
// [Aggregate] does the same for groups: aggregate_plan.go finds what an image counts for,
// aggregate_item.go applies the changes of an item, aggregate_post.go and
// aggregate_tally.go take the differences and merge them, all of them pure;
// aggregate_write.go reads, commits, and reads again what was lost to others. groups.go and
// merge.go are the reader's side.
//
// The package knows no driver: a [Store], an [ItemStore] or a [GroupStore] writes, and
// a [Reader] reads.
package view
