// Package state is what sinks remember of the items of a table, so that every
// change has its effect once, however often and however late it is delivered.
//
// # Why an aggregate cannot count twice
//
// An aggregate keeps, beside the rows of its groups, what each item counts for in
// them now, and of which version of the item that is: the item's [Contribution]. A
// change is never added to a group. It says what the item counts for from now on;
// the group changes by the difference to what is stored:
//
//	change          the item counts for       stored before    the groups change by       stored after
//	v1 INSERT       10 on Monday              nothing          Monday +10                 v1: 10 on Monday
//	v2 MODIFY       15 on Monday              v1: 10 Monday    Monday -10 +15 = +5        v2: 15 on Monday
//	v3 MODIFY       15 on Tuesday             v2: 15 Monday    Monday -15, Tuesday +15    v3: 15 on Tuesday
//	v2 once more    (older than v3: skipped)  v3: 15 Tuesday   nothing                    v3: 15 on Tuesday
//	v4 REMOVE       nothing                   v3: 15 Tuesday   Tuesday -15                v4: nothing
//
// The contribution and all its groups are written in one transaction, on condition
// that the stored version is still the one that was read. Hence, at any time, a group is
// the sum of the contributions to it that are stored, and of each item there is one. What
// may go wrong comes to this:
//
//   - A replay, or a redelivery: its versions are not above the stored ones, so that
//     nothing is written; where they are, it is a change that was not seen yet.
//   - A crash: the transaction was committed, and the change that comes again finds its
//     own version; or it was not, and nothing was written.
//   - Two workers at once: both read v1, one writes; the condition of the other
//     fails, whole. It reads again and takes the difference to what is there now.
//   - A zombie, a worker that lags behind and writes late: as above. It either finds a
//     newer version and writes nothing, or its condition fails.
//   - A lost range, or a start in mid-stream: the stored contribution is of an older
//     version than the one before the change, or there is none. The difference is to what
//     is stored, so that the item is right with its next change, whatever was missed.
//
// That is also why the old image of a change has no part in it: it says what the item was
// in the table, and what has to be taken out is what was counted here. After each of
// the cases above the two may differ.
//
// An item that is gone keeps its contribution, empty, with the version of its removal:
// else the late v2 above would count. Where expired items go on counting (on_ttl_delete:
// keep), their contribution is emptied and their values stay in the groups for good; an
// insert of the same key counts anew, which Since tells apart.
//
// A change that can't be counted leaves an empty contribution of its version, which is void. Once
// the settings are mended, the same change replaces it, on condition that it is still void, so
// that the change is counted once too.
//
// # Rows that several items may claim
//
// A row whose key does not name its item cannot tell which of two items' changes is
// newer. There the [Guard] belongs to the item: the version that was seen last, and the row
// that it asks for. It is written in one transaction with the row that the item leaves and
// the one that it comes to, on the same condition; who else claims the row waits beside it.
// Rows whose key names their item guard themselves and need nothing of this, but a place for
// their tombstones where these are apart from the rows (package sinks/view).
//
// # What else is remembered
//
//   - A [Mark] says that changes of a key lie in dead letters for a sink that cannot do
//     without order: later ones of the key follow them until they were redriven. It is
//     cleared on condition that nothing was put behind it meanwhile.
//   - A [Fingerprint] is the settings that shaped a sink's output. A sink whose settings
//     are others now does not start: contributions to groups of another making could
//     not be taken out of them again.
//   - A [Birth] records that a sink's output began at a target. Rows, groups and documents bear
//     its random id, and every write is conditional on it. The identities of the target and of
//     the state are recorded with it: a store that was deleted, restored or exchanged is refused
//     with a [LostError] before anything is written.
//   - A [Gap] is a range of a stream that was lost. Until they change again or are
//     repaired, the items in it are as they were before.
//   - [HeldBack] is why shards of a consumer are held back, for `tablewake status`. Nothing
//     depends on it, and it expires after a day.
//
// # What is forgotten
//
// What has a row or a share is never forgotten, nor are marks, gaps, births and fingerprints.
// The tombstone, the guard without a row and the contribution without a share, which are
// there to refuse late changes, may go when they were written longer ago than guard_retention
// (30 days by default), each on condition that it is unchanged ([Purger]). A change that
// is older than that finds nothing that refuses it, and is refused for its age
// ([Retention]). Embedded stores forget nothing, and refuse nothing, unless they are purged.
package state
