// Package streamtest is a DynamoDB Streams API in memory, for tests and benchmarks:
// streams whose shards split, roll over, close, age and disappear, listings that
// lag behind, iterators that expire, pages that come empty in the middle of a
// shard, quotas, and answers that fail or break on demand.
//
// A [Server] is a [shardreader.API], an [http.RoundTripper] for the AWS SDK's
// client, and an [http.Handler]; [Server.As] tells several readers apart. What is
// in a stream is written shard by shard ([Stream.Put]), or by way of a [Table],
// which makes the records of puts and deletes as DynamoDB does and keeps what the
// table holds, so that a test can compare it with what its sinks hold.
//
// A server starts no goroutine. What it answers depends on the calls made so far
// and on [Options.Now] alone: by default the time package's clock, so it works in
// the bubbles of testing/synctest, as long as no socket is involved.
//
// It is not a copy of the service where nobody can know how the service does it:
// which shard a key belongs to, how sequence numbers are spaced, when exactly a
// record that is 24 hours old goes. What the service promises of them holds here.
package streamtest
