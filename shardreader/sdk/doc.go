// Package sdk implements [shardreader.API] over the AWS SDK's client for DynamoDB Streams. No other package of the shard
// reader uses the SDK's types.
//
// Requests, signing, retries and errors are those of the SDK. Only the body of a successful GetRecords response is decoded
// by [record.Decoder]. The SDK reads an empty body and {} as the end of a shard, ignores bytes after the JSON, and does not
// retry a truncated body. Here each of these is a transient error, which the SDK retries with the same iterator.
//
// Read streams.go first, then page_protocol.go, which replaces the SDK's decoding, and error.go.
package sdk
