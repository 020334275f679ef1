package s3_test

import (
	"context"
	"log"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/sinks/deadletter/s3"
)

// A bucket stores each dead letter of a pipeline as an object. This example needs an AWS account.
func Example() {
	ctx := context.Background()
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	letters, err := s3.New(ctx, s3.Options{Client: awss3.NewFromConfig(sdk), Bucket: "shop-dead", Prefix: "letters", Pipeline: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	// Set the store as pipeline.Options.DeadLetters. redrive.Run delivers the dead letters again.
	for l, err := range letters.Read(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		log.Println(l.Time, l.Sink, l.Key, l.Error)
	}
}
