package s3_test

import (
	"context"
	"log"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/s3"
)

// An archive sink can store its objects in an S3 bucket. This example needs an AWS account.
func Example() {
	ctx := context.Background()
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	store, err := s3.New(s3.Options{Client: awss3.NewFromConfig(sdk), Bucket: "shop-archive", Folder: "changes/"})
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Create(ctx); err != nil { // an existing bucket stays as it is
		log.Fatal(err)
	}
	sink, err := archive.New(archive.Options{Store: store, Prefix: "changes/"})
	if err != nil {
		log.Fatal(err)
	}
	log.Print(sink.Batch()) // set the sink and its Batch in a pipeline.Route

	for e, err := range archive.Read(ctx, store, archive.ReadOptions{Prefix: "changes/"}) {
		if err != nil {
			log.Fatal(err)
		}
		log.Println(e.Key, e.Version)
	}
}
