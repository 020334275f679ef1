package aws_test

import (
	"context"
	"log"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/notify/aws"
)

// A FIFO queue gets the events of each item in order. This example needs an AWS account.
func ExampleNewQueue() {
	ctx := context.Background()
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	queue, err := aws.NewQueue(ctx, aws.QueueOptions{Client: sqs.NewFromConfig(sdk), Queue: "shop-events.fifo", Create: true})
	if err != nil {
		log.Fatal(err)
	}
	sink, err := notify.New(notify.Options{Pipeline: "shop", Store: queue})
	if err != nil {
		log.Fatal(err)
	}
	// The Detectors of a pipeline raise the events.
	p, err := pipeline.New(pipeline.Options{Name: "shop", Routes: []pipeline.Route{{Name: "events", Sink: sink, NeedsEvents: true}}})
	if err != nil {
		log.Fatal(err)
	}
	log.Print(p.Routes()) // p.Run reads a source and delivers its changes to the routes
}
