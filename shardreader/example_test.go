package shardreader_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// A recording has the records of a whole stream as lines of JSON. On AWS the API is that of shardreader/sdk.
func ExampleRecord() {
	server := streamtest.New(streamtest.Options{})
	orders := server.Table("orders", "PK")
	stream := server.AddStream("orders")
	if _, err := orders.Put(`{"PK":{"S":"o1"},"Total":{"N":"5"}}`); err != nil {
		log.Fatal(err)
	}
	stream.Split(stream.Shards()[0], 2)
	if _, err := orders.Delete(`{"PK":{"S":"o1"}}`); err != nil {
		log.Fatal(err)
	}

	var lines bytes.Buffer
	recording, err := shardreader.Record(context.Background(), &lines, shardreader.RecordOptions{
		API: server, Source: "orders", EmptyPages: 1, Poll: time.Millisecond,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(recording.Records, "records of", recording.Shards, "shards of", recording.Stream.Table)
	for _, c := range record.NewDecoder(record.DecoderOptions{}).DecodeLines(lines.Bytes()).Changes {
		fmt.Println(c.Op, c.Key)
	}
	// Output:
	// 2 records of 3 shards of orders
	// INSERT o1
	// REMOVE o1
}
