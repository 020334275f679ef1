package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
	"github.com/tablewake/tablewake/pipeline/unmarshal"
)

// saved holds stream records, one per line, as DynamoDB sends them.
const saved = `
{"eventName":"INSERT","eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-01-01T00:00:00.000","dynamodb":{"SequenceNumber":"100000000000000000001","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"ORDER#1"}},"NewImage":{"PK":{"S":"ORDER#1"},"Type":{"S":"Order"},"Status":{"S":"paid"},"Total":{"N":"19.90"}}}}
{"eventName":"INSERT","eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-01-01T00:00:00.000","dynamodb":{"SequenceNumber":"100000000000000000002","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"SESSION#7"}},"NewImage":{"PK":{"S":"SESSION#7"},"Type":{"S":"Session"}}}}
{"eventName":"MODIFY","eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-01-01T00:00:00.000","dynamodb":{"SequenceNumber":"100000000000000000003","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"ORDER#1"}},"OldImage":{"PK":{"S":"ORDER#1"},"Type":{"S":"Order"},"Status":{"S":"paid"},"Total":{"N":"19.90"}},"NewImage":{"PK":{"S":"ORDER#1"},"Type":{"S":"Order"},"Status":{"S":"completed"},"Total":{"N":"19.90"}}}}
`

// A pipeline in Go has a source of saved records, a filter, a detector and a sink.
func Example_pipeline() {
	// The source returns bytes. The workers of the pipeline decode them.
	decoder := record.NewDecoder(record.DecoderOptions{})
	read := false
	source := pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if read {
			return nil, io.EOF
		}
		read = true
		b := bytes.Clone([]byte(saved))
		return &pipeline.Page{
			Partition: "saved", Position: "end", Page: record.Page{Bytes: len(b)},
			Decode: func() (*record.Page, error) { return decoder.DecodeLines(b), nil },
		}, nil
	})

	status, err := item.ParsePath("Status")
	if err != nil {
		log.Fatal(err)
	}

	// The sink is a function. It gets the changes of a key one at a time, in order.
	type Order struct {
		ID     string          `dynamodbav:"PK"`
		Status string          `dynamodbav:"Status"`
		Total  decimal.Decimal `dynamodbav:"Total"`
	}
	sink := pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
		var failed pipeline.BatchError
		for i, d := range ds {
			o, err := unmarshal.Decode[Order](d.Change.New)
			if err != nil {
				failed.Add(i, err)
				continue
			}
			fmt.Printf("%s %s is %s, %s", d.Change.Op, o.ID, o.Status, o.Total)
			for _, e := range d.Events {
				fmt.Printf(" (%s)", e.Detector)
			}
			fmt.Println()
		}
		return failed.OrNil()
	})

	p, err := pipeline.New(pipeline.Options{
		Name:      "orders",
		Filters:   []pipeline.Filter{rules.Keep("orders", rules.Entity("Type", "Order"))},
		Detectors: []pipeline.NamedDetector{{Name: "completed", Detector: rules.Transition(status, "*", "completed")}},
		Routes:    []pipeline.Route{{Name: "print", Sink: sink}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Run(context.Background(), source, nil); err != nil {
		log.Fatal(err)
	}
	l := p.Ledger()
	fmt.Printf("read %d, filtered %v, written %d, events %v\n", l.Source.Read, l.Source.Filtered, l.Sinks["print"].Written, l.Events)
	fmt.Println("balanced:", l.Check() == nil)
	// Output:
	// INSERT ORDER#1 is paid, 19.9
	// MODIFY ORDER#1 is completed, 19.9 (completed)
	// read 3, filtered map[orders:1], written 2, events map[completed:1]
	// balanced: true
}

// The error of a Write decides what happens to a delivery: it is retried or dead-lettered, or the run ends.
func ExampleTransient() {
	busy := fmt.Errorf("table is throttled")
	for _, err := range []error{busy, pipeline.Transient(busy), context.DeadlineExceeded, pipeline.Fatal(busy)} {
		_, again := pipeline.Retryable(err)
		fmt.Println(again, pipeline.IsFatal(err))
	}
	// Output:
	// false false
	// true false
	// true false
	// false true
}
