package record_test

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/record"
)

func ExampleDecoder() {
	event := []byte(`{"Records":[
		{"eventName":"MODIFY","eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-11-21T09:00:00.000",
		 "dynamodb":{"Keys":{"PK":{"S":"ORDER#7"}},"SequenceNumber":"100000000005391461882",
			"OldImage":{"PK":{"S":"ORDER#7"},"Status":{"S":"paid"}},
			"NewImage":{"PK":{"S":"ORDER#7"},"Status":{"S":"shipped"}}}},
		{"eventName":"INSERT","eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-11-21T09:00:00.000",
		 "dynamodb":{"Keys":{"PK":{"S":"ORDER#8"}},"SequenceNumber":"200000000005391461882",
			"NewImage":{"PK":{"S":"ORDER#8"},"Total":{"N":"ten"}}}}]}`)

	page, err := record.NewDecoder(record.DecoderOptions{}).Decode(event)
	if err != nil {
		fmt.Println(err) // the JSON is broken; the page holds the records before that place
	}
	for i := range page.Changes {
		c := &page.Changes[i]
		status, _ := c.New.Get("Status")
		text, _ := status.Text()
		fmt.Println(c.Op, c.Table, c.Key, text)
	}
	for _, e := range page.Errors {
		fmt.Println(e.Key, e.Path, e.Err)
	}
	// Output:
	// MODIFY shop ORDER%237 shipped
	// ORDER%238 dynamodb.NewImage.Total not a number
}
