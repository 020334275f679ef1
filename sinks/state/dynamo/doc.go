// Package dynamo keeps, in one DynamoDB table, what pipelines must remember: guards,
// contributions, quarantine marks, gaps, births, fingerprints and notes of what is held back, and
// carries the calls of the stores whose rows change in one transaction with that.
//
// A [DB] is a client and the name of the state table. What a call reports as done is
// durable; whatever it reads is read consistently. It classifies what DynamoDB answers
// once, for all who stand on it: see [Error]. Several pipelines may share a table, and
// any number of processes work on it at once.
//
// # Transactions
//
// [DB.Transact] writes up to 100 actions or none. Where conditions are not met, a
// [ConditionError] names the actions; a conflict with another transaction is tried again
// here, with the same client token, before it is reported. DynamoDB refuses two actions on
// one item, so callers merge them. [DB.Write] is one action by itself, at half the price.
//
// # The table
//
// It has a partition key pk and a sort key sk, both S, and the TTL attribute expires.
// [DB.CreateState] makes it. Names of pipelines, views and tables are percent-encoded in
// keys; item keys and row keys are so already; # is in none of them, stands between
// them, and sorts before all that they are made of.
//
//	what            pk                                             sk                besides
//	guard           PIPELINE#guard#VIEW#TABLE#BIRTH#ITEM           -                 version, row, void, written, expires
//	tombstone       PIPELINE#tombstone#VIEW#TABLE#BIRTH#ROW        -                 version, item, void, written, expires
//	contribution    PIPELINE#contribution#VIEW#TABLE#BIRTH#ITEM    -                 version, shares, void, written, expires
//	seat of a row   PIPELINE#seat#VIEW#TABLE#BIRTH#ROW             -                 revision, holder
//	claim on a row  PIPELINE#seat#VIEW#TABLE#BIRTH#ROW             claim#ITEM        item, version, time, names, v0, v1, ...
//	member          PIPELINE#member#VIEW#TABLE#BIRTH#ROW#VALUE     sort key by value
//	target          PIPELINE#targets                               VIEW#BIRTH#TABLE  witnesses; there once anything was written to it
//	mark            PIPELINE#marks                                 SINK#ITEM         letters, since, sink, item
//	gap             PIPELINE#gaps                                  a digest          stream, shard, after, before, from, to, found, whole, unknown
//	birth           PIPELINE#births                                SINK#TARGET       sink, target, birth, state, store, born, begun
//	fingerprint     PIPELINE#fingerprints                          SINK              generation, birth, settings
//	held back       PIPELINE#heldback                              CONSUMER          consumer, at, total, worst, expires
//	memory          PIPELINE#memory                                -                 born, format
//
// Every partition key begins with the pipeline's name and #: a policy keeps a pipeline to its own rows by
// dynamodb:LeadingKeys, PIPELINE#*. The rows of consumers, which package shardreader/leases/dynamo writes, do
// so too, but for two, which begin with #.
//
// Guards, tombstones, contributions, seats and members, which grow with the source table, have a
// partition each or one for each row, so that no partition is hot that the rows' are not.
// Where a key would be longer than DynamoDB takes, its last part is cut, and ends in #
// and the SHA-256 of the whole part.
//
// What is remembered of items is kept under the birth of their sink's output: after the output
// began anew, nothing that was remembered before is found.
//
// A claim holds the row that its item would have, and a contribution what the item
// counts for: the table holds data of the source, and is to be protected as the rows are.
//
// # What is forgotten
//
// A tombstone, a guard without a row and a contribution without a share carry expires, so that
// DynamoDB deletes them once they are older than the retention; a note of what is held back after
// a day. As soon as there is a row or
// a share again, the item is written without it: what has one never expires. [DB.Purge]
// does the same by hand for one pipeline, for tables without TTL.
package dynamo
