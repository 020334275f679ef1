// Package aws bundles the stores of AWS: views and state in DynamoDB, documents in
// OpenSearch, archives and dead letters in S3, events to SQS, SNS and EventBridge.
//
//	sdk, err := config.LoadDefaultConfig(ctx)
//	stores := aws.Stores(sdk)
//	defer stores.Close()
//	p, err := sinks.Assemble(ctx, cfg, stores)
//
// The SDK's own variables and files say where the services are (AWS_REGION,
// AWS_PROFILE, AWS_ENDPOINT_URL_DYNAMODB and the like). Clients try a request a few
// times; what fails then is the pipeline's to try again.
package aws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/pipeline/bounded"
	"github.com/tablewake/tablewake/sinks"
)

// Option shapes a Bundle.
type Option func(*Bundle)

// Create makes what is missing: tables with their keys, TTL and on-demand billing,
// and buckets. Without it a missing one is an error that says so. Indexes are made in any
// case, and queues, topics and buses never.
func Create() Option { return func(b *Bundle) { b.create = true } }

// LookOnly opens stores as they are: no table, bucket, index, script or record is made, nor looked
// for, but for the state table, which is made where [Create] is given too. A pipeline over them would fail
// where one is missing.
func LookOnly() Option { return func(b *Bundle) { b.lookOnly = true } }

// WithLogger is where stores say what is wrong with the files that they found. Default: nowhere.
func WithLogger(l *slog.Logger) Option { return func(b *Bundle) { b.logger = l } }

// Bundle opens the stores of a pipeline when its sinks ask for them. Sinks share what
// they can. It is safe for concurrent use.
type Bundle struct {
	sdk      aws.Config
	create   bool
	lookOnly bool
	logger   *slog.Logger

	dynamodb *dynamodb.Client
	s3       *s3.Client
	sqs      *sqs.Client

	mu     sync.Mutex
	opened map[string]any // by what it is
	close  []io.Closer    // in the order in which they were opened
}

var _ sinks.Stores = (*Bundle)(nil)

// attempts is how often a client sends a request before it reports an error. What the
// pipeline does about that knows of keys and batches; this bridges a cut connection.
const attempts = 2

// patience is how long one request may take. The SDK has no bound of its own: an answer
// that never comes would hold its keys for ever.
const patience = time.Minute

// Stores is the stores that sdk reaches. It calls nothing yet.
func Stores(sdk aws.Config, opts ...Option) *Bundle {
	if sdk.HTTPClient == nil {
		sdk.HTTPClient = http.NewBuildableClient().WithTimeout(patience)
	}
	sdk.HTTPClient = bounded.Client(sdk.HTTPClient, bounded.Answer)
	b := &Bundle{
		sdk:      sdk,
		dynamodb: dynamodb.NewFromConfig(sdk, func(o *dynamodb.Options) { o.RetryMaxAttempts = attempts }),
		s3: s3.NewFromConfig(sdk, func(o *s3.Options) {
			o.RetryMaxAttempts = attempts
			o.HTTPClient = http.NewBuildableClient() // bodies of any size are read; the store watches over them
			o.UsePathStyle = o.BaseEndpoint != nil   // other servers have no host names for buckets
		}),
		sqs:    sqs.NewFromConfig(sdk, func(o *sqs.Options) { o.RetryMaxAttempts = attempts }),
		opened: make(map[string]any),
	}
	for _, o := range opts {
		o(b)
	}
	return b
}

var errClosed = errors.New("aws: the stores are closed")

// open answers the store that name stands for, opened once.
func open[T any](b *Bundle, name string, make func() (T, error)) (T, error) {
	var none T
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened == nil {
		return none, errClosed
	}
	if have, ok := b.opened[name]; ok {
		store, ok := have.(T)
		if !ok {
			return none, fmt.Errorf("aws: %s is open as a %T", name, have)
		}
		return store, nil
	}
	store, err := make()
	if err != nil {
		return none, err
	}
	b.opened[name] = store
	if c, ok := any(store).(io.Closer); ok {
		b.close = append(b.close, c)
	}
	return store, nil
}

// Close closes what was opened, the last first. Call it after the pipeline's last Run; a
// second call does nothing.
func (b *Bundle) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, c := range slices.Backward(b.close) {
		errs = append(errs, c.Close())
	}
	b.close, b.opened = nil, nil
	return errors.Join(errs...)
}

// made makes a table where the bundle makes what is missing, and else checks that it is
// there.
func (b *Bundle) made(ctx context.Context, create, check func(context.Context) error) error {
	if b.create {
		return create(ctx)
	}
	return check(ctx)
}
