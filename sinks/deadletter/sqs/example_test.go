package sqs_test

import (
	"context"
	"log"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/sinks/deadletter/s3"
	"github.com/tablewake/tablewake/sinks/deadletter/sqs"
)

// A queue stores the dead letters, and a bucket stores those that are too large for a message. This example needs an
// AWS account.
func Example() {
	ctx := context.Background()
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	large, err := s3.New(ctx, s3.Options{Client: awss3.NewFromConfig(sdk), Bucket: "shop-dead", Pipeline: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	letters, err := sqs.New(ctx, sqs.Options{Client: awssqs.NewFromConfig(sdk), Queue: "shop-dead", Pipeline: "shop", Large: large})
	if err != nil {
		log.Fatal(err)
	}
	// Set the store as pipeline.Options.DeadLetters. redrive.Run delivers the dead letters again.
	for l, err := range letters.Read(ctx) {
		if err != nil {
			log.Print(err)
			break
		}
		log.Println(l.Sink, l.Key, l.Error)
	}
	if err := letters.Close(); err != nil { // from now on other readers can read the dead letters
		log.Fatal(err)
	}
}
