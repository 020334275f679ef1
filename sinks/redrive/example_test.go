package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/sinks/redrive"
)

// A change that a sink refuses becomes a dead letter. After the cause is repaired, Run delivers the change.
func ExampleRun() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "letters")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	letters, err := dir.New(dir.Options{Dir: folder})
	if err != nil {
		log.Print(err)
		return
	}
	defer letters.Close()

	fixed := false
	sink := pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
		if !fixed {
			return errors.New("no such customer")
		}
		fmt.Println("the sink has", ds[0].Change.Key)
		return nil
	})
	p, err := pipeline.New(pipeline.Options{
		Name: "shop", Routes: []pipeline.Route{{Name: "crm", Sink: sink}}, DeadLetters: letters,
	})
	if err != nil {
		log.Print(err)
		return
	}
	const change = `{"eventName":"INSERT","eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-01-01T00:00:00.000",` +
		`"dynamodb":{"SequenceNumber":"1","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"ORDER-1"}},"NewImage":{"PK":{"S":"ORDER-1"}}}}`
	page := record.NewDecoder(record.DecoderOptions{}).DecodeLines([]byte(change))
	read := false
	if err := p.Run(ctx, pipeline.SourceFunc(func(context.Context) (*pipeline.Page, error) {
		if read {
			return nil, io.EOF
		}
		read = true
		return &pipeline.Page{Partition: "saved", Position: "end", Page: *page}, nil
	}), nil); err != nil {
		log.Print(err)
		return
	}
	fmt.Println("dead letters:", p.Ledger().Sinks["crm"].DeadLettered)

	fixed = true
	report, err := redrive.Run(ctx, redrive.Options{Pipeline: p, Letters: letters, Name: "shop"})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println("delivered:", report.Delivered(), "left:", report.Left())
	// Output:
	// dead letters: 1
	// the sink has ORDER-1
	// delivered: 1 left: 0
}
