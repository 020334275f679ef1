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

// CallTimeout limits one call of the Streams API.
const CallTimeout = 20 * time.Second

// Open returns a client of the Streams API that decodes records by the settings of cfg. The client has its own pool of
// connections, for up to maxCalls concurrent calls. It does not retry, because the coordinator of a consumer schedules
// retries.
func Open(conf awssdk.Config, cfg *config.Config, maxCalls int) shardreader.API {
	client := dynamodbstreams.NewFromConfig(conf, func(o *dynamodbstreams.Options) {
		o.RetryMaxAttempts = 1
		o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(CallTimeout).WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost, t.MaxIdleConns = maxCalls, max(maxCalls, t.MaxIdleConns)
		})
	})
	return sdk.New(client, sinks.Decoder(cfg))
}

// Sources returns the sources of cfg for the coordinator. A source is a stream if cfg names the stream, otherwise a
// table.
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

// NewestStreams returns the newest stream of each source table of cfg. For a table whose stream cfg names, it returns
// that stream.
func NewestStreams(ctx context.Context, api shardreader.API, cfg *config.Config) ([]shardreader.StreamRef, error) {
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

// rateLimitedStreams is a Streams API for commands that only look at a stream. It retries transient errors of
// ListStreams and DescribeStream. It limits the rate of DescribeStream calls, because the consumers share the account's
// quota for these calls. Its DescribeStream is not safe for concurrent use.
type rateLimitedStreams struct {
	shardreader.API
	next time.Time // earliest time of the next DescribeStream call
}

// OpenRateLimited returns a client of the Streams API for a command that only looks at a stream. Like that of [Open],
// it has a pool of connections for up to maxCalls concurrent calls. It retries ListStreams and DescribeStream, but not
// GetShardIterator and GetRecords.
func OpenRateLimited(conf awssdk.Config, cfg *config.Config, maxCalls int) shardreader.API {
	return &rateLimitedStreams{API: Open(conf, cfg, maxCalls)}
}

// describePause is the pause between two DescribeStream calls. It permits 2 calls a second. The account's quota is 10,
// so 8 are left for the consumers.
const describePause = 500 * time.Millisecond

// DescribeStream waits until the rate limit permits the call.
func (p *rateLimitedStreams) DescribeStream(
	ctx context.Context, q shardreader.DescribeQuery,
) (shardreader.StreamDescription, error) {
	return Retry(ctx, func() (shardreader.StreamDescription, error) {
		if err := pipeline.Sleep(ctx, time.Until(p.next)); err != nil {
			return shardreader.StreamDescription{}, err
		}
		p.next = time.Now().Add(describePause)
		return p.API.DescribeStream(ctx, q)
	})
}

// ListStreams implements [shardreader.API].
func (p *rateLimitedStreams) ListStreams(ctx context.Context, table, after string) (shardreader.StreamPage, error) {
	return Retry(ctx, func() (shardreader.StreamPage, error) { return p.API.ListStreams(ctx, table, after) })
}

// MaxTries is the maximum number of calls that [Retry] makes.
const MaxTries = 6

// Retry makes a call, and repeats it after transient errors. It makes at most [MaxTries] calls, and repeats none after
// [CallTimeout]. It returns the result of the last call.
func Retry[T any](ctx context.Context, call func() (T, error)) (T, error) {
	var backoff pipeline.Backoff
	start := time.Now()
	for attempt := 0; ; attempt++ {
		result, err := call()
		delay, retryable := pipeline.Retryable(err)
		isLast := attempt+1 == MaxTries || time.Since(start) >= CallTimeout
		if err == nil || !retryable || isLast {
			return result, err
		}
		if pipeline.Sleep(ctx, backoff.Delay(attempt, delay)) != nil {
			return result, err
		}
	}
}
