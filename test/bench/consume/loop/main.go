// Command loop reads a stream as a program with the AWS SDK alone does. One goroutine for each shard calls GetRecords
// in a loop, and does nothing with the records.
//
//	loop NAME
//
// The command ends when there is nothing more to read, and prints the number of records that it has read. Credentials,
// Region and endpoint are those of the SDK.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

func main() {
	n, err := read(context.Background(), os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "loop:", err)
		os.Exit(1)
	}
	fmt.Println(n)
}

func read(ctx context.Context, table string) (records int, err error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return 0, err
	}
	client := dynamodbstreams.NewFromConfig(cfg)
	streams, err := client.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: &table})
	if err != nil {
		return 0, err
	}
	stream := streams.Streams[0].StreamArn
	about, err := client.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: stream})
	if err != nil {
		return 0, err
	}
	shards := about.StreamDescription.Shards
	counts, errs := make([]int, len(shards)), make([]error, len(shards))
	var all sync.WaitGroup
	for i, shard := range shards {
		all.Go(func() { counts[i], errs[i] = readShard(ctx, client, stream, shard.ShardId) })
	}
	all.Wait()
	for i := range shards {
		records += counts[i]
		if errs[i] != nil {
			return 0, errs[i]
		}
	}
	return records, nil
}

// readShard reads a shard until it has no new records.
func readShard(ctx context.Context, client *dynamodbstreams.Client, stream, shard *string) (records int, err error) {
	first, err := client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: stream, ShardId: shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
	if err != nil {
		return 0, err
	}
	for next := first.ShardIterator; next != nil; {
		page, err := client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next})
		if err != nil {
			return 0, err
		}
		if len(page.Records) == 0 {
			break
		}
		records += len(page.Records)
		next = page.NextShardIterator
	}
	return records, nil
}
