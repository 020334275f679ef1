package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/shardreader/worker"
)

const consumeShards = 4

// consumeRows read all that a stream has, from a server in this process.
func consumeRows() []row {
	return []row{{
		id:   "consume",
		work: "read a stream of 4 shards in pages of 1 MB, no filter, one sink, which discards",
		peer: "GetRecords of aws-sdk-go-v2 in a loop",
		of:   rate, least: 4, input: true,
		note: "the server answers in process, from pages that are encoded before; the loop is one for each shard",
		open: func(ctx context.Context, b *bench) (*contest, error) { return openConsume(ctx, b, b.usual()) },
	}}
}

// consumeContest is a stream that is read over and over. Its pages are encoded once.
type consumeContest struct {
	n      int
	stream *streamtest.Stream
	gate   *gate
	client *dynamodbstreams.Client
	run    *consuming
}

func openConsume(ctx context.Context, b *bench, s *shape) (*contest, error) {
	c := &consumeContest{n: 160_000}
	if b.short {
		c.n /= 4
	}
	server := streamtest.New(streamtest.Options{})
	c.gate = &gate{next: server}
	c.client = streamsClient(c.gate)
	c.stream = server.Enable("bench", streamtest.StreamOptions{Shards: consumeShards})
	shards := c.stream.Shards()
	for i := range c.n {
		c.stream.Put(shards[i%len(shards)], s.at(i).put())
	}
	for _, side := range []func(context.Context) (sample, error){c.ours, c.bare} {
		if _, err := side(ctx); err != nil { // it encodes the pages
			return nil, err
		}
	}
	return &contest{
		ours: side{run: c.ours}, peer: side{run: c.bare},
		close: func() error { return c.end(context.Background()) },
	}, nil
}

// ours brings a consumer to its first calls of GetRecords, which wait, and times it from
// there to its last record.
func (c *consumeContest) ours(ctx context.Context) (out sample, err error) {
	if err := c.start(ctx); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, c.end(ctx)) }()
	return once(ctx, func(context.Context) (int, error) {
		c.gate.open()
		select {
		case <-c.run.read:
			return c.n, nil
		case err := <-c.run.ended:
			return 0, fmt.Errorf("the consumer has read %d of %d records: %w", c.run.count.Load(), c.n, err)
		}
	})
}

func (c *consumeContest) start(ctx context.Context) (err error) {
	c.gate.shut(consumeShards)
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

// bare is GetRecords of the SDK's client in a loop, one for each shard.
func (c *consumeContest) bare(ctx context.Context) (sample, error) {
	return once(ctx, func(ctx context.Context) (int, error) {
		shards := c.stream.Shards()
		counts := make([]int, len(shards))
		err := loop(len(shards), len(shards), func(i int) (err error) {
			counts[i], err = c.readShard(ctx, shards[i])
			return err
		})
		n := 0
		for _, count := range counts {
			n += count
		}
		if err == nil && n != c.n {
			err = fmt.Errorf("the loop has read %d of %d records", n, c.n)
		}
		return n, err
	})
}

func (c *consumeContest) readShard(ctx context.Context, shard string) (n int, err error) {
	arn := c.stream.ARN()
	it, err := c.client.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: &shard, ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
	if err != nil {
		return 0, err
	}
	for next := it.ShardIterator; next != nil; {
		out, err := c.client.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: next})
		if err != nil || len(out.Records) == 0 { // the shards are open
			return n, err
		}
		n += len(out.Records)
		next = out.NextShardIterator
	}
	return n, nil
}

// end stops the consumer, if one runs.
func (c *consumeContest) end(ctx context.Context) error {
	if c.run == nil {
		return nil
	}
	c.gate.open()
	run := c.run
	c.run = nil
	return run.stop(ctx)
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
