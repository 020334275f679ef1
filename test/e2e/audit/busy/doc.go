// Package busy audits sinks of every kind while their table is written all the time and their consumer lags, in one process:
// the real assembly, a consumer of shardreader/consumer over a stream in memory, embedded stores that stand still at times,
// and the audits of the command. No audit may report a difference but those that the tests inject.
package busy
