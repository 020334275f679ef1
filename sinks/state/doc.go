// Package state defines the records that sinks keep about the items of a table. With these records every change takes
// effect once, however often and however late it is delivered.
//
// Two packages store these records: state/dynamo in a DynamoDB table, and state/sqlite in a file. Planners and stores
// of rows (sinks/view) read [Guard] and [Contribution] before a write and replace them in the transaction that writes
// the rows ([ItemWrite], [GroupWrite]). Package sinks records a [Birth] and a [Fingerprint] when a sink opens. The
// pipeline reads and writes quarantine [Mark]s and [Gaps] through a [Store]. Read group_contribution.go, group_write.go
// and row_claim.go first, then store.go and output_births.go.
//
// # Why an aggregate does not count twice
//
// Besides the rows of its groups, an aggregate stores the [Contribution] of each item. A contribution has the values
// that the item currently adds to its groups, and the version of the item. A change is not added to a group. It
// replaces the contribution, and the group changes by the difference to the stored contribution:
//
//	change          the item counts for       stored before    the groups change by       stored after
//	v1 INSERT       10 on Monday              nothing          Monday +10                 v1: 10 on Monday
//	v2 MODIFY       15 on Monday              v1: 10 Monday    Monday -10 +15 = +5        v2: 15 on Monday
//	v3 MODIFY       15 on Tuesday             v2: 15 Monday    Monday -15, Tuesday +15    v3: 15 on Tuesday
//	v2 once more    (older than v3: skipped)  v3: 15 Tuesday   nothing                    v3: 15 on Tuesday
//	v4 REMOVE       nothing                   v3: 15 Tuesday   Tuesday -15                v4: nothing
//
// The contribution and its groups are written in one transaction, on the condition that the stored version is still the
// version that was read. So a group is always the sum of the stored contributions to it, and each item has one
// contribution. These faults are therefore harmless:
//
//   - A replay or a redelivery: its versions are not above the stored versions, so nothing is
//     written. A version above the stored one belongs to a change that was not seen yet.
//   - A crash: if the transaction was committed, the redelivered change finds its own version. If it
//     was not, nothing was written.
//   - Two consumers at once: both read v1 and one writes. The transaction of the other consumer fails as a whole. It
//     reads again and takes the difference to the new contribution.
//   - A consumer that lags and writes late: it finds a newer version and writes nothing, or
//     its condition fails.
//   - A lost range, or a start in mid-stream: the stored contribution is older than the version
//     before the change, or missing. The difference is computed from the stored contribution, so the
//     next change of the item corrects the count.
//
// For the same reason the old image of a change does not determine what a group loses. The group must lose the values
// of the stored contribution. After each fault above, the old image may differ from these values.
//
// A deleted item keeps an empty contribution with the version of its removal. Without the empty contribution, the late
// v2 above would count. If expired items continue to count (on_ttl_delete: keep), the expiry first sets the
// contribution from the old image. Then it empties the contribution without changing the groups, so the values of the
// item stay in the groups permanently. A new item with that key is counted separately; [Contribution].Since
// distinguishes the two.
//
// A change that cannot be counted stores an empty contribution with its version, marked as Void. After the settings are
// corrected, the same change replaces the contribution, on condition that it is still void. So the change is counted
// once.
//
// # Rows that several items may claim
//
// If the key of a row does not contain the key of its item, several items may claim the same row. Versions order the
// changes of one item, not those of different items. So each item has a [Guard] with its newest version and the row
// that it claims. The guard is written in one transaction with the row that the item leaves and the row that it claims.
// The claims of other items wait ([RowClaims]). A row whose key contains the key of its item needs no guard, because
// the row has the version. Its tombstone may be stored apart from the rows (package sinks/view).
//
// # Other state
//
//   - A [Mark] records that changes of a key are in dead letters of a sink that depends on order. Later changes of the
//     key are dead-lettered too, until the letters are redriven. The mark is cleared only if no letter was added since
//     it was read.
//   - A [Fingerprint] holds the settings that shaped a sink's output. A sink whose settings changed
//     does not start, because contributions that were made by other settings could not be subtracted
//     from the groups.
//   - A [Birth] identifies one output of a sink: its target, and a random id on each row, group and document. Every
//     write is conditional on that id. The birth also has the identities of the target and of the state. A store that
//     was deleted, restored or exchanged is therefore refused with a [LostError] before anything is written. The
//     [Stage] of a birth says whether the output is filled, and which changes of the stream are written until then.
//   - A [Backfill] fills outputs from a table that existed before them. Processes claim its [Part]s.
//     If a process dies, another one continues its part at Position.
//   - A [github.com/tablewake/tablewake/pipeline/record.Gap] is a range of records of a stream that were lost.
//     The output may be out of date for the items of these records, until the items change again or are repaired.
//   - [HeldBack] holds the reasons why shards of a consumer are not read further, for `tablewake
//     status`. Nothing depends on it, and it expires after a day.
//
// # What is forgotten
//
// Guards with a row, contributions with shares, marks, gaps, births, backfills and fingerprints are never forgotten.
// Tombstones, guards without a row and contributions without shares only refuse late changes. A [Purger] may delete
// them if they are unchanged for guard_retention (30 days by default). A change that is older than guard_retention is
// refused because of its age ([Retention]). Embedded stores forget nothing and refuse nothing, unless they are purged.
package state
