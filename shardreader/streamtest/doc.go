// Package streamtest implements the DynamoDB Streams API in memory, for tests and benchmarks. Its shards split, roll
// over, close, expire and disappear. Listings may be late, iterators expire, and pages may be empty in the middle of a
// shard. Quotas apply, and calls fail or return broken answers on demand.
//
// A [Server] is a [shardreader.API], an [http.RoundTripper] for the AWS SDK's client, and an [http.Handler].
// [Server.As] identifies one of several readers. A test writes records to a shard ([Stream.Put]), or items to a
// [Table], which writes the records of puts and deletes as DynamoDB does. A Table keeps its items, so that a test can
// compare them with the content of a sink.
//
// A server starts no goroutine. Its answers depend only on the calls so far and on [Options.Now]. By default that is
// the clock of package time, so the server works in the bubbles of testing/synctest if it uses no socket.
//
// Three things about the service are unknown, and this package defines them: the shard of a key, the distance between
// sequence numbers, and the exact time when a record is removed after 24 hours. The documented promises of the service
// hold.
//
// The call chain: Reader (Server.answer for HTTP) → Server.begin, which counts the call and chooses its fault → the
// function of the operation in api_operations.go. Read streams_server.go, simulated_stream.go, stored_shard.go and
// api_operations.go in this order.
package streamtest
