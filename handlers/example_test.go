package handlers_test

import (
	"context"
	"fmt"

	"github.com/tablewake/tablewake/handlers"
	"github.com/tablewake/tablewake/pipeline"
)

// A Lambda function gives its handler to lambda.Start. A test calls it.
func ExampleDynamoDB() {
	sink := pipeline.SinkFunc(func(_ context.Context, batch []pipeline.Delivery) error {
		for _, d := range batch {
			fmt.Println(d.Change.Op, d.Change.Key)
		}
		return nil
	})
	p, err := pipeline.New(pipeline.Options{Name: "orders", Routes: []pipeline.Route{{Name: "print", Sink: sink}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	const event = `{"Records":[{"eventSource":"aws:dynamodb","eventName":"INSERT",
		"eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-01-01T00:00:00.000",
		"dynamodb":{"SequenceNumber":"100000000000000000001","StreamViewType":"NEW_IMAGE",
			"Keys":{"PK":{"S":"ORDER#1"}},"NewImage":{"PK":{"S":"ORDER#1"},"Status":{"S":"paid"}}}}]}`
	answer, err := handlers.DynamoDB(p).Invoke(context.Background(), []byte(event))
	fmt.Println(string(answer), err)
	// Output:
	// INSERT ORDER%231
	// {"batchItemFailures":[]} <nil>
}
