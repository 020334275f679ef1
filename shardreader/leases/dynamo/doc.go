// Package dynamo keeps leases in a DynamoDB table that Amazon's KCL can read and write:
// an application of it can be taken over where it stands, and handed back.
//
// # The lease table
//
// Its only key attribute is leaseKey (S). A row has what KCL gives it, in KCL's types:
//
//	leaseKey                      S   shard id; with several streams STREAM:SHARD, see below
//	leaseOwner                    S   absent where nobody owns it
//	checkpointOwner               S   who owns it in truth while KCL hands it to leaseOwner
//	leaseCounter                  N
//	checkpoint                    S   TRIM_HORIZON, LATEST, AT_TIMESTAMP, SHARD_END or a sequence number
//	checkpointSubSequenceNumber   N
//	ownerSwitchesSinceCheckpoint  N
//	parentShardId, childShardIds  SS  shard ids; absent where there are none
//	throughputKBps                N   bytes a second / 1024
//	startingHashKey, endingHashKey S  0 and 1, of adapter 2.x and later
//	entityType                    S   LEASE, of KCL 3.5 and later
//	streamName, shardId           S   with several streams
//
// and attributes of our own, which KCL leaves as they are: tw_stream, tw_first, tw_from,
// tw_time, tw_wanted, tw_pinned, tw_stopped. Rows are only ever updated, never replaced, so that what
// other versions add stays. A checkpoint removes KCL's pendingCheckpoint, as
// KCL's own does. Rows of another entityType are not leases, and are not touched; nor are the
// tables that KCL 3 has beside this one.
//
// With several streams (KCL's multi-stream mode) STREAM is
// ACCOUNT:REGION$ACCOUNT$TABLE$LABEL:1, the label's colons written as underscores.
//
// Which [Form] a table has is told by its rows, and new rows are written in that form: so it can be
// handed back to the version that it was taken from. A table without leases
// is written as adapter 2.x does, which KCL 3.5 reads too.
//
// # The state table
//
// What KCL has no place for is in the state table, whose key is pk and sk and whose TTL
// attribute is expires. Names are percent-encoded.
//
//	member   PIPELINE#workers   WORKER         name, beat, leaving, leases, load, calls, pending, behind, stopped, failing, at_end
//	begun    PIPELINE#workers   begun#STREAM   the leases that the reading of the stream starts with were made
//	quota    #quotas            QUOTA          count
//	claim    #leases#TABLE      -              pipeline: whose lease table it is
//
// A quota is shared by all pipelines of a state table, as the account shares what it counts; the claim is what
// keeps a second pipeline from a lease table. All other rows belong to one pipeline.
//
// # Two owners
//
// KCL knows nothing of members: it takes a lease whose counter stands still for its
// failover time (10 s by default), and ours do on idle shards. So only one
// of them may work on a table at a time. [leases.Snapshot.Foreign] and [leases.Moving] tell
// whether another application is at work.
package dynamo
