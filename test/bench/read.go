package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/shardreader/worker"
)

const readShards = 4

// readContest reads all that a stream has, on one core, in process: the server
// answers with pages of 1 MB that are encoded once.
type readContest struct {
	n      int
	cores  int // before
	stream *streamtest.Stream
	gate   *gate
	client *dynamodbstreams.Client
	run    *consuming
}

func openRead(_ context.Context, _ *servers, in *input) (contest, error) {
	server := streamtest.New(streamtest.Options{})
	c := &readContest{n: in.n, stream: server.Enable("bench", streamtest.StreamOptions{Shards: readShards}), gate: &gate{next: server}}
	shards := c.stream.Shards()
	for i := range in.n {
		c.stream.Put(shards[i%len(shards)], order(i))
	}
	c.client = dynamodbstreams.New(dynamodbstreams.Options{
		Region:      "eu-central-1",
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient:  &http.Client{Transport: c.gate},
	})
	c.cores = runtime.GOMAXPROCS(1)
	return c, nil
}

// order is the record that the decoder's benchmark has too: an order of 13 attributes,
// one of which has changed, about 1.5 KB with both images.
func order(i int) streamtest.Record {
	keys := fmt.Sprintf(`"PK":{"S":"USER#%06d"},"SK":{"S":"ORDER#2026-11-21#%06d"}`, i%50, i)
	image := func(status string) string {
		return fmt.Sprintf(`{%s,"Type":{"S":"Order"},"Status":{"S":"%s"},"Total":{"N":"129.95"},"Currency":{"S":"EUR"},"CreatedAt":{"N":"1795251600"},"Paid":{"BOOL":true},"Note":{"S":"leave at the back door, ring twice"},"Coupon":{"NULL":true},"Address":{"M":{"Street":{"S":"Main Street 5"},"City":{"S":"Zürich"},"Zip":{"S":"8001"}}},"Tags":{"SS":["gift","express"]},"Lines":{"L":[{"M":{"sku":{"S":"SKU-%05d"},"qty":{"N":"2"}}},{"M":{"sku":{"S":"SKU-77"},"qty":{"N":"1"}}}]}}`,
			keys, status, i)
	}
	return streamtest.Record{Keys: "{" + keys + "}", Old: image("paid"), New: image("shipped")}
}

// fresh stops the consumer of the round before.
func (c *readContest) fresh(ctx context.Context) error {
	err := c.end(ctx)
	runtime.GC()
	return err
}

// start brings a consumer to its first calls of GetRecords, which wait.
func (c *readContest) start(ctx context.Context) (err error) {
	c.gate.shut(readShards)
	c.run, err = startConsuming(ctx, c.client, c.n)
	if err != nil {
		return err
	}
	select {
	case <-c.gate.all:
		return nil
	case err := <-c.run.ended:
		return fmt.Errorf("the consumer ended before it read: %w", err)
	}
}

func (c *readContest) ours(context.Context) error {
	c.gate.open()
	select {
	case <-c.run.read:
		return nil
	case err := <-c.run.ended:
		return fmt.Errorf("the consumer has read %d of %d records: %w", c.run.count.Load(), c.n, err)
	}
}

// bare is GetRecords of the SDK's client in a loop, one for each shard.
func (c *readContest) bare(ctx context.Context) error {
	arn := c.stream.ARN()
	shards := c.stream.Shards()
	counts := make([]int, len(shards))
	err := loop(len(shards), len(shards), func(i int) error {
		it, err := c.client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: &shards[i], ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
		if err != nil {
			return err
		}
		for next := it.ShardIterator; next != nil; {
			out, err := c.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next})
			if err != nil {
				return err
			}
			if len(out.Records) == 0 { // the shards are open
				return nil
			}
			counts[i] += len(out.Records)
			next = out.NextShardIterator
		}
		return nil
	})
	n := 0
	for _, count := range counts {
		n += count
	}
	if err == nil && n != c.n {
		err = fmt.Errorf("the loop has read %d of %d records", n, c.n)
	}
	return err
}

// end stops the consumer, if one runs.
func (c *readContest) end(ctx context.Context) error {
	if c.run == nil {
		return nil
	}
	c.gate.open()
	run := c.run
	c.run = nil
	return run.stop(ctx)
}

func (c *readContest) close() error {
	runtime.GOMAXPROCS(c.cores)
	return c.end(context.Background())
}

// consuming is a consumer with a pipeline of one sink, which counts.
type consuming struct {
	consumer *consumer.Consumer
	pipeline *pipeline.Pipeline
	cancel   context.CancelFunc
	count    atomic.Int64
	read     chan struct{} // closed when all is read
	ended    chan error
}

func startConsuming(ctx context.Context, client *dynamodbstreams.Client, n int) (*consuming, error) {
	r := &consuming{read: make(chan struct{}), ended: make(chan error, 1)}
	var err error
	r.consumer, err = consumer.New(consumer.Options{
		API:    sdk.New(client, pipeline.DecoderOptions{}),
		Table:  leases.NewMemory(leases.Snapshot{}),
		Gaps:   consumer.GapFunc(func(context.Context, worker.Gap) error { return errors.New("a gap in a stream that keeps all") }),
		Worker: worker.Options{Name: "bench", Sources: []worker.Source{{Table: "bench"}}},
	})
	if err != nil {
		return nil, err
	}
	sink := pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
		if r.count.Add(int64(len(ds))) == int64(n) {
			close(r.read)
		}
		return nil
	})
	r.pipeline, err = pipeline.New(pipeline.Options{Name: "bench", Routes: []pipeline.Route{{Name: "discard", Sink: sink}}})
	if err != nil {
		return nil, err
	}
	ctx, r.cancel = context.WithCancel(ctx)
	go func() { r.ended <- r.pipeline.Run(ctx, r.consumer, r.consumer) }()
	return r, nil
}

func (r *consuming) stop(ctx context.Context) error {
	r.cancel()
	err := <-r.ended
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, r.consumer.Close(context.WithoutCancel(ctx)), r.pipeline.Ledger().Check())
}

// gate holds calls of GetRecords back while it is shut.
type gate struct {
	next http.RoundTripper

	mu     sync.Mutex
	opened chan struct{}
	all    chan struct{} // closed when as many wait as are awaited
	wait   int
}

func (g *gate) shut(awaited int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened, g.all, g.wait = make(chan struct{}), make(chan struct{}), awaited
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		close(g.opened)
		g.opened = nil
	}
}

// RoundTrip passes the request on.
func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasSuffix(req.Header.Get("X-Amz-Target"), ".GetRecords") {
		g.mu.Lock()
		opened := g.opened
		if opened != nil {
			if g.wait--; g.wait == 0 {
				close(g.all)
			}
		}
		g.mu.Unlock()
		if opened != nil {
			select {
			case <-opened:
			case <-req.Context().Done():
				return nil, req.Context().Err()
			}
		}
	}
	return g.next.RoundTrip(req)
}
