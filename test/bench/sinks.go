package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
)

// sinkRows measure the sinks on real servers, beside bare loops that send the same requests to the same server. The
// clock includes the server's share of the time.
func sinkRows() []row {
	some := []struct {
		row
		n    int // records of a round
		open func(context.Context, *servers, *sinkInput) (sinkContest, error)
	}{
		{row{id: "search", variant: "fast", least: 0.9, peer: "the same bulk requests (index with external_gte)"}, 20_000, openSearch("fast")},
		{row{id: "search", variant: "exact", least: 0.9, peer: "the same bulk requests (scripted upserts)"}, 20_000, openSearch("exact")},
		{row{id: "view", least: 0.8, peer: "the same conditional writes by the same SDK client"}, 4_000, openView},
		{row{id: "archive", variant: "per item", least: 0.8, peer: "PutObject of the same bodies by the same SDK client"}, 1_500, openArchive(perItem)},
		{row{id: "archive", variant: "log", least: 0.8, peer: "the same lines compressed by the same library, and PutObject of them"}, 6_000, openArchive(log)},
	}
	var out []row
	for _, s := range some {
		r := s.row
		r.work = "write the inserts of items of 1 KB to a server of this machine, as many requests at once"
		r.of, r.cores, r.servers = wallRate, -1, true
		r.open = func(ctx context.Context, b *bench) (*contest, error) {
			n := s.n
			if b.short {
				n /= 10
			}
			c, err := s.open(ctx, b.servers, newSinkInput(n))
			if err != nil {
				return nil, err
			}
			return &contest{ours: sinkSide(c, c.ours, n), peer: sinkSide(c, c.bare, n), close: c.close}, nil
		}
		out = append(out, r)
	}
	return out
}

// sinkContest has both sides, which write the same data to the same server.
type sinkContest interface {
	// fresh empties the store and prepares it for a round. It is not measured.
	fresh(ctx context.Context) error
	// ours runs the pipeline over the input.
	ours(ctx context.Context) error
	// bare sends the requests that the pipeline sent, in a loop.
	bare(ctx context.Context) error
	close() error
}

func sinkSide(c sinkContest, write func(context.Context) error, n int) side {
	return side{run: func(ctx context.Context) (sample, error) {
		if err := c.fresh(ctx); err != nil {
			return sample{}, err
		}
		runtime.GC()
		start := time.Now()
		err := write(ctx)
		return sample{records: n, wall: time.Since(start)}, err
	}}
}

// drive runs a pipeline over the input. It fails if a record was not written.
func drive(ctx context.Context, p *pipeline.Pipeline, in *sinkInput) error {
	before := p.Ledger()
	if err := p.Run(ctx, in.source(), nil); err != nil {
		return err
	}
	l := p.Ledger()
	if err := l.Check(); err != nil {
		return err
	}
	for name, s := range l.Sinks {
		if n := s.Written - before.Sinks[name].Written; n != int64(in.n) {
			return fmt.Errorf("sink %s has written %d of %d records", name, n, in.n)
		}
	}
	return nil
}

// assemble returns a pipeline with the one sink that sink describes in YAML.
func assemble(ctx context.Context, stores sinks.Stores, sink string) (*pipeline.Pipeline, error) {
	text := "version: 1\nname: bench\nsource: {table: bench}\nstate: {table: bench-state}\n" + sink
	cfg, err := config.Parse("bench.yaml", []byte(text), os.LookupEnv)
	if err != nil {
		return nil, err
	}
	return sinks.Assemble(ctx, cfg, stores, sinks.Finite())
}
