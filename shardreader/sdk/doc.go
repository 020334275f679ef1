// Package sdk implements [shardreader.API] with the AWS SDK's client for DynamoDB Streams. No other package of the
// shard reader uses the SDK's types.
//
// The SDK makes, signs and retries requests, and decodes errors. Only the body of a successful GetRecords response is
// decoded by [record.Decoder]. The SDK's own decoder treats an empty body and {} as the end of a shard, ignores bytes
// after the JSON, and does not retry a truncated body. In this package each of these is a transient error, and the SDK
// retries the request with the same iterator.
//
// Read sdk_streams.go first, then errors.go. [awshttp.AnswerDecoder] replaces the SDK's decoding.
package sdk
