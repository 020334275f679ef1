package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/handlers"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/redrive"
)

// redriven is what the event {"tablewake":"redrive"} does: dead letters of an outage go to
// their sinks, once. A function has nothing that runs beside its invocations.
func redriven(ctx context.Context, cfg *config.Config, stores sinks.Stores, p *pipeline.Pipeline, log *slog.Logger) (func(context.Context) error, error) {
	kept, err := letters.Open(ctx, cfg, stores)
	if err != nil {
		return nil, err
	}
	o, err := letters.Options(ctx, cfg, stores, kept, p)
	if err != nil {
		return nil, err
	}
	o.Classes, o.Attempts = redrive.Outage(), 1
	return func(ctx context.Context) error {
		report, err := redrive.Run(ctx, o)
		log.InfoContext(ctx, "dead letters of an outage are redriven", slog.Int("delivered", report.Delivered()), slog.Int("left", report.Left()))
		return err
	}, nil
}

// maxBatch bounds the record of a batch that Lambda gave up: 6 MB of event, escaped.
const maxBatch = 64 << 20

// objects are the records of batches that Lambda gave up.
type objects struct{ client *s3.Client }

var _ handlers.Objects = objects{}

// GetObject implements [handlers.Objects].
func (o objects) GetObject(ctx context.Context, bucket, key, version string) ([]byte, error) {
	in := &s3.GetObjectInput{Bucket: &bucket, Key: &key}
	if version != "" {
		in.VersionId = &version
	}
	got, err := o.client.GetObject(ctx, in)
	if _, gone := errors.AsType[*types.NoSuchKey](err); gone {
		return nil, fmt.Errorf("%w: %w", handlers.ErrGone, err)
	}
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	b, err := io.ReadAll(io.LimitReader(got.Body, maxBatch+1))
	if err == nil && len(b) > maxBatch {
		err = fmt.Errorf("the object is larger than %d bytes", maxBatch)
	}
	return b, err
}

// bucketClient reads buckets. Servers other than AWS have no host names for them.
func bucketClient(sdk awssdk.Config) *s3.Client {
	return s3.NewFromConfig(sdk, func(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil })
}
