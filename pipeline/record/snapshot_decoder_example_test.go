package record_test

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/record"
)

func ExampleSnapshotDecoder() {
	lines := []byte(`{"Item":{"PK":{"S":"ORDER#7"},"Status":{"S":"shipped"}}}
{"Item":{"PK":{"S":"ORDER#8"},"Total":{"N":"ten"}}}
{"Item":{"id":{"S":"ORDER#9"}}}
`)
	decoder := record.NewSnapshotDecoder(record.SnapshotOptions{
		DecoderOptions: record.DecoderOptions{StreamARN: "arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-11-21T09:00:00.000"},
		Keys:           []string{"PK"},
	})
	page := decoder.DecodeLines(lines)
	for i := range page.Changes {
		c := &page.Changes[i]
		status, _ := c.New.Get("Status")
		text, _ := status.Text()
		fmt.Println(c.Op, c.Table, c.Key, c.Version, text)
	}
	for _, e := range page.Errors {
		fmt.Println(e.Index, e.Path, e.Err)
	}
	// Output:
	// SNAPSHOT shop ORDER%237 17952516000000000000000000000000000000000000000000 shipped
	// 1 Item.Total not a number
	// 2 Item.PK the item has no such attribute, and it is part of the key: check --keys
}
