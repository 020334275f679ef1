package s3_test

import (
	"context"
	"log"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/s3"
)

// A bucket is the store of an archive sink. It needs an account of AWS.
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
	if err := store.Create(ctx); err != nil { // a bucket that exists stays as it is
		log.Fatal(err)
	}
	sink, err := archive.New(archive.Options{Store: store, Prefix: "changes/"})
	if err != nil {
		log.Fatal(err)
	}
	log.Print(sink.Batch()) // a pipeline.Route has the sink and its Batch

	for e, err := range archive.Read(ctx, store, archive.ReadOptions{Prefix: "changes/"}) {
		if err != nil {
			log.Fatal(err)
		}
		log.Println(e.Key, e.Version)
	}
}
