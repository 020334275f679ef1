package aws_test

import (
	"context"
	"log"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
)

// The pipeline of a file writes to the stores of an AWS account. This example needs such an account.
func ExampleStores() {
	ctx := context.Background()
	cfg, err := config.Load("tablewake.yaml")
	if err != nil {
		log.Fatal(err)
	}
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	stores := aws.Stores(sdk)
	defer stores.Close()
	p, err := sinks.Assemble(ctx, cfg, stores)
	if err != nil {
		log.Print(err)
		return
	}
	log.Print(p.Routes()) // p.Run reads a source and delivers its changes to the routes
}
