package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
)

// open opens all that the function works with.
func open(ctx context.Context, log *slog.Logger) (lambda.Handler, error) {
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	cfg, err := loadConfig(ctx, sdk, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	stores := aws.Stores(sdk)
	p, err := sinks.Assemble(ctx, cfg, stores, sinks.Live(), sinks.WithLogger(log))
	if err != nil {
		return nil, errors.Join(err, stores.Close())
	}
	_ = p
	return nil, nil
}
