// Package streamtest is a DynamoDB Streams API in memory, for tests: streams whose
// shards split, close, are trimmed and disappear, iterators that expire, pages that
// come empty in the middle of a shard, and answers that fail or break on demand.
//
// A [Server] is a [shardreader.API], an [http.RoundTripper] for the AWS SDK's
// client, and an [http.Handler]. It tells the time by the time package, so it
// works in the bubbles of testing/synctest, as long as no socket is involved.
package streamtest
