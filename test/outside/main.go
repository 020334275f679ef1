// Command customers is a Lambda function in a repository of its own: it keeps a view, which
// its YAML describes, and tells a customer system about orders by a sink of its own.
//
//	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -tags lambda.norpc -o bootstrap .
//
// The file tablewake.yaml stands beside the bootstrap in the function's package.
package main

import (
	"context"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/aws/aws-lambda-go/lambda"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/tablewake/tablewake/handlers"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
)

func main() {
	ctx := context.Background()
	cfg, err := config.Load(filepath.Join(os.Getenv("LAMBDA_TASK_ROOT"), "tablewake.yaml"))
	if err != nil {
		log.Fatal(err)
	}
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	p, err := assemble(ctx, cfg, aws.Stores(sdk))
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(handlers.DynamoDB(p, handlers.WithLogger(slog.Default())))
}

// assemble makes the pipeline: of what the file says, and of the sink that it calls crm.
func assemble(ctx context.Context, cfg *config.Config, stores sinks.Stores) (*pipeline.Pipeline, error) {
	return sinks.Assemble(ctx, cfg, stores, sinks.With("crm", newCRM), sinks.Live(), sinks.WithLogger(slog.Default()))
}
