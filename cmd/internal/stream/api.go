package stream

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/sinks"
)

// Patience is how long one call of the Streams API may take.
const Patience = 20 * time.Second

// Open is the Streams API, whose records are decoded as cfg's tables want it. It
// has connections of its own, enough for calls at once, and sends each request once: who
// calls knows better when to call again.
func Open(conf awssdk.Config, cfg *config.Config, calls int) shardreader.API {
	client := dynamodbstreams.NewFromConfig(conf, func(o *dynamodbstreams.Options) {
		o.RetryMaxAttempts = 1
		o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(Patience).WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost, t.MaxIdleConns = calls, max(calls, t.MaxIdleConns)
		})
	})
	return sdk.New(client, sinks.Decoder(cfg))
}

// Sources are the tables and streams of cfg as a worker reads them.
func Sources(cfg *config.Config) []coordinator.Source {
	sources := make([]coordinator.Source, 0, len(cfg.Source.Tables))
	for _, t := range cfg.Source.Tables {
		if t.StreamARN != "" {
			sources = append(sources, coordinator.Source{Stream: t.StreamARN})
		} else {
			sources = append(sources, coordinator.Source{Table: t.Name})
		}
	}
	return sources
}

// Newest are the streams that cfg's tables have now.
func Newest(ctx context.Context, api shardreader.API, cfg *config.Config) ([]shardreader.StreamRef, error) {
	refs := make([]shardreader.StreamRef, 0, len(cfg.Source.Tables))
	for _, t := range cfg.Source.Tables {
		ref, err := shardreader.FindStream(ctx, api, cmp.Or(t.StreamARN, t.Name))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs, nil
}

// politely is an API for who only looks: it tries a call that failed for now again, and
// keeps DescribeStream calls apart, whose quota the consumers share.
type politely struct {
	shardreader.API
	next time.Time // when DescribeStream may be called again
}

// Polite is the Streams API for who only looks.
func Polite(conf awssdk.Config, cfg *config.Config) shardreader.API {
	return &politely{API: Open(conf, cfg, 2)}
}

// lookPause lies between two DescribeStream calls: a fifth of the account's quota, which
// consumers leave.
const lookPause = 500 * time.Millisecond

// DescribeStream waits its turn.
func (p *politely) DescribeStream(ctx context.Context, q shardreader.DescribeQuery) (shardreader.StreamDescription, error) {
	return Trying(ctx, func() (shardreader.StreamDescription, error) {
		if err := pipeline.Sleep(ctx, time.Until(p.next)); err != nil {
			return shardreader.StreamDescription{}, err
		}
		p.next = time.Now().Add(lookPause)
		return p.API.DescribeStream(ctx, q)
	})
}

// ListStreams implements [shardreader.API].
func (p *politely) ListStreams(ctx context.Context, table, after string) (shardreader.StreamPage, error) {
	return Trying(ctx, func() (shardreader.StreamPage, error) { return p.API.ListStreams(ctx, table, after) })
}

// Tries is how often a call of a command that looks is made.
const Tries = 6

// Trying makes a call again where its error is transient, unless it was not answered for long.
func Trying[T any](ctx context.Context, call func() (T, error)) (T, error) {
	var backoff pipeline.Backoff
	start := time.Now()
	for attempt := 0; ; attempt++ {
		got, err := call()
		after, again := pipeline.Retryable(err)
		if err == nil || !again || attempt+1 == Tries || time.Since(start) >= Patience {
			return got, err
		}
		if pipeline.Sleep(ctx, backoff.Delay(attempt, after)) != nil {
			return got, err
		}
	}
}
