// Package backfill fills sinks of every kind from a large table that is written all the time, in one process: the real
// assembly, consumers of shardreader/consumer over a stream in memory, and backfills by scan and by export over embedded
// stores. Consumers and backfills are killed: they are cut off from their stores at once, and what they had sent
// arrives later. In the end each sink must hold what the table holds.
package backfill
