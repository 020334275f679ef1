// Package dynamo stores leases in a DynamoDB table that Amazon's KCL can read and write. So tablewake can resume from
// the checkpoints of a KCL application, and the application can resume from the checkpoints of tablewake.
//
// The call chain of a write: [Table.Swap] → update (the expression) → write (the call) → Table.writeError (conflict or
// error). Read lease_table.go, lease_row.go and update_expression.go in this order. member_rows.go reads and writes the
// state table.
//
// # The lease table
//
// The only key attribute is leaseKey (S). A row has the attributes and types of KCL:
//
//	leaseKey                      S   shard id; with several streams STREAM:SHARD, see below
//	leaseOwner                    S   absent if the lease is free
//	checkpointOwner               S   the present owner while KCL hands the lease to leaseOwner
//	leaseCounter                  N
//	checkpoint                    S   TRIM_HORIZON, LATEST, AT_TIMESTAMP, SHARD_END or a sequence number
//	checkpointSubSequenceNumber   N
//	ownerSwitchesSinceCheckpoint  N
//	parentShardId, childShardIds  SS  shard ids; absent if there are none
//	throughputKBps                N   bytes a second / 1024
//	startingHashKey, endingHashKey S  0 and 1; adapter 2.x and later
//	entityType                    S   LEASE; KCL 3.5 and later
//	streamName, shardId           S   only with several streams
//
// A row also has attributes of tablewake, which KCL does not change: tw_stream, tw_first, tw_from, tw_time, tw_wanted,
// tw_pinned, tw_stopped. Rows are updated, never replaced, so that attributes of other versions stay. The write of a
// checkpoint removes KCL's pendingCheckpoint, as KCL itself does. Rows with another entityType are not leases and are
// not changed. The other tables of KCL 3 are not used.
//
// With several streams (KCL's multi-stream mode) STREAM is ACCOUNT:REGION$ACCOUNT$TABLE$LABEL:1, with the colons of the
// label replaced by underscores.
//
// The present rows show the [RowFormat] of a table, and new rows are written in the same format. So the application
// from which tablewake took the leases can read the new rows. In a table without leases, new rows have the format of
// adapter 2.x, which KCL 3.5 reads too.
//
// # The state table
//
// Rows that KCL does not know are in the state table. Its key attributes are pk and sk, and its TTL attribute is
// expires. Names are percent-encoded.
//
//	member   PIPELINE#workers   CONSUMER       a [leases.Member]: sinks/STORAGE.md lists the attributes
//	begun    PIPELINE#workers   begun#STREAM   the first leases of the stream were created
//	quota    #quotas            QUOTA          count
//	claim    #leases#TABLE      -              pipeline: the owner of the lease table
//
// All pipelines with the same state table share a quota, because it limits the calls of the account. The claim keeps a
// second pipeline from using a lease table. All other rows belong to one pipeline.
//
// # Two owners
//
// KCL does not know members. It takes a lease whose counter did not change for KCL's failover time (10 s by default).
// tablewake does not change the counter of idle shards. So a KCL application and tablewake must not use a table at the
// same time. [leases.Snapshot.Foreign] and [leases.ActiveForeign] show whether another application is running.
package dynamo
