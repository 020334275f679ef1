package function

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

// newRedriver returns the function for the event {"tablewake":"redrive"}. That function tries once to deliver
// each dead letter of an outage. It cannot wait and retry, because a Lambda function runs nothing between invocations.
func newRedriver(
	ctx context.Context, cfg *config.Config, stores sinks.Stores, p *pipeline.Pipeline, log *slog.Logger,
) (func(context.Context) error, error) {
	kept, err := letters.Open(ctx, cfg, stores)
	if err != nil {
		return nil, err
	}
	o, err := letters.RedriveOptions(ctx, cfg, stores, kept, p)
	if err != nil {
		return nil, err
	}
	o.Classes, o.Attempts = redrive.OutageClasses(), 1
	return func(ctx context.Context) error {
		report, err := redrive.Run(ctx, o)
		log.InfoContext(ctx, "dead letters of an outage are redriven", slog.Int("delivered", report.Delivered()),
			slog.Int("left", report.Left()))
		return err
	}, nil
}

// maxBatchBytes is the largest object that Lambda writes for a discarded batch. The object holds one event of up to 6
// MB, and escaping makes it larger.
const maxBatchBytes = 64 << 20

// objects reads the objects with the batches that Lambda discarded.
type objects struct{ client *s3.Client }

var _ handlers.ObjectGetter = objects{}

// GetObject implements [handlers.ObjectGetter].
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
	b, err := io.ReadAll(io.LimitReader(got.Body, maxBatchBytes+1))
	if err == nil && len(b) > maxBatchBytes {
		err = fmt.Errorf("the object is larger than %d bytes", maxBatchBytes)
	}
	return b, err
}

// bucketClient returns a client of S3. With servers other than AWS it puts bucket names into paths, because these
// servers have no host names for buckets.
func bucketClient(sdk awssdk.Config) *s3.Client {
	return s3.NewFromConfig(sdk, func(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil })
}
