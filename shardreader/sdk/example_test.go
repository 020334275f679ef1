package sdk_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// The newest stream of a table is read from its oldest record. Here the SDK's client calls a service in memory. A program on
// AWS makes its client by dynamodbstreams.NewFromConfig.
func ExampleNew() {
	server := streamtest.New(streamtest.Options{})
	orders := server.Table("orders", "PK")
	server.AddStream("orders")
	if _, err := orders.Put(`{"PK":{"S":"o1"},"Total":{"N":"5"}}`); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	api := sdk.New(dynamodbstreams.New(dynamodbstreams.Options{
		Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient: &http.Client{Transport: server},
	}), record.DecoderOptions{})
	stream, err := shardreader.FindStream(ctx, api, "orders")
	if err != nil {
		log.Fatal(err)
	}
	listing, err := shardreader.ListShards(ctx, api, stream.ARN)
	if err != nil {
		log.Fatal(err)
	}
	shard := listing.Shards[0].ID
	iterator, err := api.GetShardIterator(ctx, shardreader.ShardPosition{StreamARN: stream.ARN, Shard: shard, Type: shardreader.TrimHorizon})
	if err != nil {
		log.Fatal(err)
	}
	page, err := api.GetRecords(ctx, shardreader.RecordsQuery{Iterator: iterator, StreamARN: stream.ARN, Shard: shard})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range page.Page.Changes {
		fmt.Println(c.Op, c.Table, c.Key)
	}
	// Output:
	// INSERT orders o1
}
