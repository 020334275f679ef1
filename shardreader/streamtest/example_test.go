package streamtest_test

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// A table whose stream splits and fails now and then, read shard after shard.
func Example() {
	server := streamtest.New(streamtest.Options{})
	table := server.Table("shop", "Id")
	stream := server.AddStream("shop")

	table.Put(`{"Id":{"S":"a"},"Status":{"S":"open"}}`)
	stream.Split(stream.Shards()[0], 2)
	table.Put(`{"Id":{"S":"a"},"Status":{"S":"paid"}}`)
	table.Delete(`{"Id":{"S":"a"}}`)
	server.Fail("DescribeStream", streamtest.Faults()["throttled"])

	ctx := context.Background()
	if _, err := shardreader.ListShards(ctx, server, stream.ARN()); err != nil {
		fmt.Println("throttled")
	}
	listing, err := shardreader.ListShards(ctx, server, stream.ARN())
	if err != nil {
		fmt.Println(err)
	}
	for i, shard := range listing.Shards {
		it, err := server.GetShardIterator(ctx, shardreader.ShardPosition{StreamARN: stream.ARN(), Shard: shard.ID, Type: shardreader.TrimHorizon})
		if err != nil {
			fmt.Println(err)
		}
		page, err := server.GetRecords(ctx, shardreader.RecordsQuery{Iterator: it, StreamARN: stream.ARN(), Shard: shard.ID})
		if err != nil {
			fmt.Println(err)
		}
		for _, c := range page.Page.Changes {
			fmt.Println("shard", i, c.Op, c.Key)
		}
	}
	fmt.Println("the table holds", table.Items())
	// Output:
	// throttled
	// shard 0 INSERT a
	// shard 1 MODIFY a
	// shard 1 REMOVE a
	// the table holds []
}
