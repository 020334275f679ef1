package function_test

import (
	"context"
	"log"

	"github.com/tablewake/tablewake/cmd/function"
	"github.com/tablewake/tablewake/sinks"
)

// Order has the attributes of an order that the function needs.
type Order struct {
	Status string `dynamodbav:"Status"`
}

// The bootstrap of a Lambda function that calls Go code for each change of an order.
func ExampleMain() {
	function.Main(sinks.On("Order", func(_ context.Context, c sinks.TypedChange[Order]) error {
		if c.New != nil {
			log.Print(c.Op, " ", c.New.Status)
		}
		return nil
	}))
}
