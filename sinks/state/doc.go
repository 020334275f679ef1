// Package state defines what sinks remember of the items of a table, so that every
// change takes effect once, however often and however late it is delivered.
//
// The packages below it store that memory: state/dynamo in a DynamoDB table, state/sqlite in a
// file. Planners and stores of rows (sinks/view) read [Guard] and [Contribution] before a write and
// replace them in the transaction of the write ([ItemWrite], [GroupWrite]). Package sinks records a
// [Birth] and a [Fingerprint] when a sink opens. The pipeline reads and writes quarantine [Mark]s and
// [Gaps] through a [Store]. Read contribution.go, group.go and claim.go first, then store.go and
// births.go.
//
// # Why an aggregate does not count twice
//
// Besides the rows of its groups, an aggregate stores the [Contribution] of each item: what the item
// counts for now, and the version of the item. A change is not added to a group. It replaces the
// contribution, and the group changes by the difference to the stored contribution:
//
//	change          the item counts for       stored before    the groups change by       stored after
//	v1 INSERT       10 on Monday              nothing          Monday +10                 v1: 10 on Monday
//	v2 MODIFY       15 on Monday              v1: 10 Monday    Monday -10 +15 = +5        v2: 15 on Monday
//	v3 MODIFY       15 on Tuesday             v2: 15 Monday    Monday -15, Tuesday +15    v3: 15 on Tuesday
//	v2 once more    (older than v3: skipped)  v3: 15 Tuesday   nothing                    v3: 15 on Tuesday
//	v4 REMOVE       nothing                   v3: 15 Tuesday   Tuesday -15                v4: nothing
//
// The contribution and its groups are written in one transaction, on the condition that the stored
// version is the one that was read. So a group is always the sum of the stored contributions to it,
// and each item has one contribution. These faults are therefore harmless:
//
//   - A replay or a redelivery: its versions are not above the stored versions, so nothing is
//     written. A version above the stored one belongs to a change that was not seen yet.
//   - A crash: either the transaction was committed, and the redelivered change finds its
//     own version; or it was not, and nothing was written.
//   - Two consumers at once: both read v1 and one writes. The transaction of the other fails as a
//     whole. That consumer reads again and takes the difference to the new contribution.
//   - A consumer that lags behind and writes late: it finds a newer version and writes nothing, or
//     its condition fails.
//   - A lost range, or a start in mid-stream: the stored contribution is older than the version
//     before the change, or missing. The difference is to what is stored, so the item is counted
//     correctly again with its next change.
//
// For the same reason the old image of a change is not used for what a group loses: it is the item in the table,
// but the group must lose what was counted here. The two may differ after each fault above.
//
// A deleted item keeps an empty contribution with the version of its removal. Without it, the late
// v2 above would count. If expired items continue to count (on_ttl_delete: keep), their contribution
// is replaced by what the old image of the expiry counts for, and then emptied. These values stay in the
// groups permanently. A new item with the same key counts in addition; its [Contribution].Since differs.
//
// A change that can't be counted leaves an empty contribution of its version that is void. After the
// settings are mended, the same change replaces it, on the condition that it is still void, so that
// the change is counted once.
//
// # Rows that several items may claim
//
// If the key of a row does not name its item, the row cannot tell which of two items' changes is
// newer. Then each item has a [Guard]: its newest version, and the row that it claims. The guard is
// written in one transaction with the row that the item leaves and the row that it claims.
// The claims of other items wait beside the row ([RowClaims]). A row whose key names its item needs no
// guard, since the row has the version. Its tombstone may be stored apart from the rows (package
// sinks/view).
//
// # Other state
//
//   - A [Mark] records that changes of a key are in dead letters for a sink that depends on order.
//     Later changes of the key follow them until they are redriven. The mark is cleared only if no
//     letter was added meanwhile.
//   - A [Fingerprint] holds the settings that shaped a sink's output. A sink whose settings changed
//     does not start, because contributions that were made by other settings could not be taken out
//     of the groups.
//   - A [Birth] records that a sink's output began at a target. Rows, groups and documents have
//     its random id, and every write is conditional on it. The identities of the target and of
//     the state are recorded with it: a store that was deleted, restored or exchanged is refused
//     with a [LostError] before anything is written.
//     The [Stage] of a birth says whether the output is filled yet, and which changes of the stream
//     are written meanwhile.
//   - A [Backfill] is one filling of outputs from a table that existed before them. Its [Part]s are
//     claimed by processes: a part of a dead process is read on from its Position.
//   - A [github.com/tablewake/tablewake/pipeline/record.Gap] is a range of a stream that was lost. The output is out of date for the items in
//     it until they change again or are repaired.
//   - [HeldBack] says why shards of a consumer are held back, for `tablewake status`. Nothing
//     depends on it, and it expires after a day.
//
// # What is forgotten
//
// Guards with a row and contributions with shares are never forgotten, nor are marks, gaps, births,
// backfills and fingerprints. Tombstones, guards without a row and contributions without shares only refuse late
// changes. They may be deleted guard_retention (30 days by default) after they were written, if they
// are unchanged ([Purger]). A change that is older than that is refused for its age
// ([Retention]). Embedded stores forget nothing and refuse nothing, unless they are purged.
package state
