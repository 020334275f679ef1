// Package sdk is [shardreader.API] over the AWS SDK's client for DynamoDB Streams.
// The SDK's types stop here.
//
// Requests, signing, retries and errors are the SDK's own. Only the body of a
// successful GetRecords answer is read by tablewake's decoder: the SDK takes an
// empty body and {} for the end of a shard, passes over whatever follows the
// answer, and does not ask again for one that was cut. Here each of them is a
// transient error, retried by the SDK with the same iterator.
package sdk
