// Package dynamo keeps the state of pipelines in one DynamoDB table: guards, contributions, tombstones,
// quarantine marks, gaps, births, fingerprints and notes of consumers that are held back. It also sends
// the transactions of the stores whose rows change together with that state (sinks/view/dynamo).
//
// [New] returns a [DB]: a client and the name of the state table. [DB.State] returns the part that a
// pipeline itself uses. A call that returns nil has stored its result durably, and every read is
// consistent. Failed calls return an [Error], which says whether to retry. Several pipelines may share
// a table, and any number of processes may use it at once. Read db.go, transact.go, errors.go and
// keys.go first, then items.go, claims.go and members.go.
//
// # Transactions
//
// [DB.Transact] writes up to 100 actions or none. If conditions are not met, a
// [ConditionError] names the actions. A conflict with another transaction is retried
// with the same client token before it is returned. DynamoDB refuses two actions on
// one item, so callers merge them ([MergedWrite]). [DB.Write] is one action without a transaction, at
// half the price.
//
// # The table
//
// It has a partition key pk and a sort key sk, both S, and the TTL attribute expires.
// [DB.CreateState] creates it. Names of pipelines, views and tables are percent-encoded in
// keys; keys of items and rows are percent-encoded already. So # is in none of them and
// separates them, and it sorts before all characters of an encoded name.
//
//	what            pk                                             sk                attributes
//	guard           PIPELINE#guard#VIEW#TABLE#BIRTH#ITEM           -                 version, row, void, written, expires
//	tombstone       PIPELINE#tombstone#VIEW#TABLE#BIRTH#ROW        -                 version, item, void, written, expires
//	contribution    PIPELINE#contribution#VIEW#TABLE#BIRTH#ITEM    -                 version, shares, void, written, expires
//	seat of a row   PIPELINE#seat#VIEW#TABLE#BIRTH#ROW             -                 revision, holder
//	claim on a row  PIPELINE#seat#VIEW#TABLE#BIRTH#ROW             claim#ITEM        item, version, time, names, v0, v1, ...
//	member          PIPELINE#member#VIEW#TABLE#BIRTH#ROW#VALUE     sort key by value
//	target          PIPELINE#targets                               VIEW#BIRTH#TABLE  witnesses; written before the first row
//	mark            PIPELINE#marks                                 SINK#ITEM         letters, since, sink, item
//	gap             PIPELINE#gaps                                  a digest          stream, shard, after, before, from, to, found, whole, unknown, repair
//	birth           PIPELINE#births                                SINK#TARGET       sink, target, birth, state, store, born, begun
//	fingerprint     PIPELINE#fingerprints                          SINK              generation, birth, settings
//	held back       PIPELINE#heldback                              CONSUMER          consumer, at, total, worst, expires
//	memory          PIPELINE#memory                                -                 born, format
//
// Every partition key begins with the pipeline's name and #, so an IAM policy can restrict a pipeline to
// its own items by dynamodb:LeadingKeys, PIPELINE#*. This also holds for the items of consumers, which
// package shardreader/leases/dynamo writes, except two that begin with #.
//
// Guards, tombstones, contributions, seats and members grow with the source table. Each item or row has
// a partition of its own, so that no partition is hotter than those of the table of rows.
// If a key would be longer than DynamoDB allows, its last part is cut, followed by #
// and the SHA-256 of the whole part.
//
// The keys of guards, tombstones, contributions and claims contain the birth of the sink's output. When
// the output begins again with a new birth, nothing of the former output is found.
//
// A claim holds the attributes of the row, and a contribution holds what the item counts for. So the
// state table holds data of the source, and needs the same protection as the rows.
//
// # What is forgotten
//
// A tombstone, a guard without a row and a contribution without shares have the attribute expires, so
// that DynamoDB deletes them after the retention. A note of a consumer that is held back expires after
// a day. An item that gets a row or a share again is written without expires. [DB.Purge] deletes the
// same items of one pipeline, for tables without TTL.
package dynamo
