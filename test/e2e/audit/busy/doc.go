// Package busy audits sinks of every kind while their table is written all the time and their consumer lags. Everything
// is in one process: the real assembly, a consumer of shardreader/consumer over a stream in memory, embedded stores
// that stand still at times, and the audits of the command. An audit may only report the differences that the tests
// inject.
package busy
