// Package backfill fills sinks of every kind from a large table that is written all the time. Everything is in one
// process: the real assembly, consumers of shardreader/consumer over a stream in memory, and backfills by scan and by
// export over embedded stores. Consumers and backfills are killed, which cuts them off from their stores at once. The
// requests that they sent before arrive later. In the end each sink must hold what follows from the table.
package backfill
