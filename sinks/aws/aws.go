// Package aws has the stores of a pipeline in AWS. Views and state are in DynamoDB, documents in OpenSearch, archives
// and dead letters in S3, and events in SQS, SNS and EventBridge.
//
//	sdk, err := config.LoadDefaultConfig(ctx)
//	stores := aws.Stores(sdk)
//	defer stores.Close()
//	p, err := sinks.Assemble(ctx, cfg, stores)
//
// The environment variables and files of the SDK select the services (AWS_REGION, AWS_PROFILE,
// AWS_ENDPOINT_URL_DYNAMODB and so on). A client sends a request at most twice; after that the pipeline retries the
// changes.
package aws

import (
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/internal/openstores"
)

// Option changes a default of a Bundle.
type Option func(*Bundle)

// Create lets the Bundle create missing tables, with their keys, TTL and on-demand billing, and missing buckets,
// queues, topics and buses. Without Create, a missing table, bucket, queue, topic or bus is an error. Indexes are
// created in either case.
func Create() Option { return func(b *Bundle) { b.createMissing = true } }

// LookOnly opens stores without creating or checking tables, buckets, indexes, scripts and records. The exception is
// the state table, which is created with [Create]. A pipeline over such stores fails when it uses a missing table,
// bucket or index.
func LookOnly() Option { return func(b *Bundle) { b.lookOnly = true } }

// WithLogger sets where stores log broken files. Default: no log.
func WithLogger(l *slog.Logger) Option { return func(b *Bundle) { b.logger = l } }

// Bundle opens the stores of a pipeline when its sinks need them. Sinks share stores if they can. It is safe for
// concurrent use.
type Bundle struct {
	sdk           aws.Config
	createMissing bool
	lookOnly      bool
	logger        *slog.Logger

	dynamodb *dynamodb.Client
	s3       *s3.Client
	sqs      *sqs.Client

	opened *openstores.Stores // stores by a name with their kind and location
}

var _ sinks.Stores = (*Bundle)(nil)

// attempts is the number of times that a client sends a request before it returns an error. Two attempts bridge a lost
// connection. The pipeline makes all other retries, because it knows keys and batches.
const attempts = 2

// requestTimeout is the longest time of a request. The SDK has no limit, and a missing answer would block the keys of
// the request forever.
const requestTimeout = time.Minute

// Stores returns the stores that sdk reaches. It sends no requests.
func Stores(sdk aws.Config, opts ...Option) *Bundle {
	if sdk.HTTPClient == nil {
		sdk.HTTPClient = http.NewBuildableClient().WithTimeout(requestTimeout)
	}
	sdk.HTTPClient = bounded.Client(sdk.HTTPClient, bounded.Answer)
	b := &Bundle{
		sdk:      sdk,
		dynamodb: dynamodb.NewFromConfig(sdk, func(o *dynamodb.Options) { o.RetryMaxAttempts = attempts }),
		s3: s3.NewFromConfig(sdk, func(o *s3.Options) {
			o.RetryMaxAttempts = attempts
			// without requestTimeout: bodies have any size, and the store detects stalled bodies
			o.HTTPClient = http.NewBuildableClient()
			o.UsePathStyle = o.BaseEndpoint != nil // other servers have no host names for buckets
		}),
		sqs:    sqs.NewFromConfig(sdk, func(o *sqs.Options) { o.RetryMaxAttempts = attempts }),
		opened: openstores.New("aws"),
	}
	for _, o := range opts {
		o(b)
	}
	return b
}

// Close closes the stores, the last opened first. The caller calls it after the pipeline's last Run. A second call does
// nothing.
func (b *Bundle) Close() error { return b.opened.Close() }
