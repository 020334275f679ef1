package customers

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/handlers"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
)

// event is an event of Lambda with two orders and a profile.
const event = `{"Records":[
{"eventID":"1","eventName":"INSERT","eventSource":"aws:dynamodb","awsRegion":"eu-central-1","eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678",
 "dynamodb":{"Keys":{"PK":{"S":"O1"}},"NewImage":{"PK":{"S":"O1"},"Type":{"S":"Order"},"Status":{"S":"paid"},"Total":{"N":"12.5"}},"SequenceNumber":"100000000000000000001","StreamViewType":"NEW_AND_OLD_IMAGES"}},
{"eventID":"2","eventName":"INSERT","eventSource":"aws:dynamodb","awsRegion":"eu-central-1","eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678",
 "dynamodb":{"Keys":{"PK":{"S":"U1"}},"NewImage":{"PK":{"S":"U1"},"Type":{"S":"User"}},"SequenceNumber":"100000000000000000002","StreamViewType":"NEW_AND_OLD_IMAGES"}},
{"eventID":"3","eventName":"INSERT","eventSource":"aws:dynamodb","awsRegion":"eu-central-1","eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678",
 "dynamodb":{"Keys":{"PK":{"S":"O2"}},"NewImage":{"PK":{"S":"O2"},"Type":{"S":"Order"},"Status":{"S":"open"}},"SequenceNumber":"100000000000000000003","StreamViewType":"NEW_AND_OLD_IMAGES"}}
]}`

// The example runs a Lambda function with this code, and with embedded stores instead of those of AWS.
func Example() {
	dir, err := os.MkdirTemp("", "customers")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	stores, err := local.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer stores.Close()

	file, err := os.ReadFile(filepath.Join("..", "tablewake.yaml"))
	if err != nil {
		log.Fatal(err)
	}
	cfg, err := config.Parse("tablewake.yaml", file, func(name string) (string, bool) { return "crm.example", name == "CRM_HOST" })
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	p, err := sinks.Assemble(ctx, cfg, stores, sinks.WithExtensions(Extensions()...), sinks.Live())
	if err != nil {
		log.Fatal(err)
	}
	answer, err := handlers.DynamoDB(p).Invoke(ctx, []byte(event))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(answer))
	written := p.Ledger().Sinks
	fmt.Println("rows written:", written["orders_by_status"].Written)
	fmt.Println("customers told:", written["customers"].Written, "in dead letters:", written["customers"].DeadLettered)
	// Output:
	// POST https://crm.example/O1: paid, 12.50
	// {"batchItemFailures":[]}
	// rows written: 2
	// customers told: 1 in dead letters: 1
}
