// Package dynamo keeps the state of pipelines in one DynamoDB table. The state has guards, contributions, tombstones,
// quarantine marks, gaps, births, backfills, fingerprints and notes of consumers that are held back. Package state
// explains these words. It also sends the transactions of the stores whose rows change together with that state
// (sinks/view/dynamo).
//
// [New] returns a [DB]: a client and the name of the state table. [DB.State] returns the part of the state that a
// pipeline itself uses. When a call returns without an error, its result is durable. Every read is consistent, except
// listings. A failed call returns an [Error], which is marked as transient, fatal or permanent. Several pipelines may
// share a table, and any number of processes may use it at once. Read db.go, transaction.go, errors.go and item_keys.go
// first, then item_records.go, row_claims.go and group_members.go.
//
// # Transactions
//
// [DB.Transact] writes up to 100 actions, either all of them or none. If conditions are not met, it returns a
// [ConditionError] that names the actions. If another transaction conflicts, Transact retries with the same client
// token before it returns an error. DynamoDB refuses two actions on one item, so callers merge them ([MergedWrite]).
// [DB.Write] writes one action without a transaction, at half the price.
//
// # The table
//
// The state table has a partition key pk and a sort key sk, both S, and the TTL attribute expires. [DB.CreateState]
// creates it. Names of pipelines, views and tables are percent-encoded in keys. Keys of items and rows are
// percent-encoded already. So no name or key contains #, and # can separate them. The character # sorts before all
// characters of an encoded name.
//
//	what            pk                                             sk                attributes
//	guard           PIPELINE#guard#VIEW#TABLE#BIRTH#ITEM           -                 version, row, void, written, expires
//	tombstone       PIPELINE#tombstone#VIEW#TABLE#BIRTH#ROW        -                 version, item, void, written, expires
//	contribution    PIPELINE#contribution#VIEW#TABLE#BIRTH#ITEM    -                 version, shares, void, written, expires
//	owner of a row  PIPELINE#seat#VIEW#TABLE#BIRTH#ROW             -                 revision, holder
//	claim on a row  PIPELINE#seat#VIEW#TABLE#BIRTH#ROW             claim#ITEM        item, version, time, names, v0, v1, ...
//	member          PIPELINE#member#VIEW#TABLE#BIRTH#ROW#VALUE     sort key by value
//	target          PIPELINE#targets                               VIEW#BIRTH#TABLE  witnesses; written before the first row
//	mark            PIPELINE#marks                                 SINK#ITEM         letters, since, sink, item
//	gap             PIPELINE#gaps                                  a digest          stream, shard, after, before, from, to, found, whole, unknown, repair
//	birth           PIPELINE#births                                SINK#TARGET       sink, target, birth, state, store, born, begun, fresh, stage, floor, stream, run, read_until, left_out
//	backfill        PIPELINE#backfills                             RUN               run, sinks, source, begun, from, parts
//	part            PIPELINE#parts#RUN                             ID                run, id, owner, counter, position, items, done
//	fingerprint     PIPELINE#fingerprints                          SINK              generation, birth, settings
//	held back       PIPELINE#heldback                              CONSUMER          consumer, at, total, worst, expires
//	memory          PIPELINE#memory                                -                 born, format
//
// Every partition key begins with the pipeline's name and #. So an IAM policy can restrict a pipeline to its own items
// by dynamodb:LeadingKeys, PIPELINE#*. The items of consumers (package shardreader/leases/dynamo) have such keys too,
// except two whose keys begin with #.
//
// The number of guards, tombstones, contributions, claims, owners and members grows with the source table. Each item or
// row has its own partition, so that no partition is hotter than the partitions of the table of rows. A key may be
// longer than DynamoDB allows. Then one component of the key is cut, for example the item's key or the row. The cut
// component ends in # and the SHA-256 of the whole component. Guards and contributions then also have the whole key of
// the item as the attribute item.
//
// The keys of guards, tombstones, contributions and claims contain the birth of the sink's output. If the output begins
// again with a new birth, the records of the former output are not found.
//
// Claims have the attributes of rows, and contributions have values of items. So the state table contains data of the
// source table and needs the same protection as the rows.
//
// # What is forgotten
//
// Tombstones, guards without a row and contributions without shares have the attribute expires, so that DynamoDB
// deletes them after the retention. If an item gets a row or a share again, its guard or contribution is written
// without expires, and stays. The note of a held-back consumer expires after a day. For tables without TTL, [DB.Purge]
// deletes the tombstones, guards and contributions of one pipeline that have the attribute expires.
package dynamo
