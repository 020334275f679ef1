package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
)

// comparison is ours against a bare loop.
type comparison struct {
	name  string
	least float64 // budget of the ratio; 0: none
	share int     // one of so many records is taken, where a server is slow. 0: all
	times int     // so many times the records are taken, where both sides are fast. 0: once
	alone bool    // it needs none of the servers
	note  string
	open  func(ctx context.Context, s *servers, in *input) (contest, error)
}

// contest is both sides, which write the same to the same server.
type contest interface {
	// fresh empties what is written to, and makes it ready. It is not measured.
	fresh(ctx context.Context) error
	// ours runs the pipeline over the input.
	ours(ctx context.Context) error
	// bare sends what the pipeline sent, in a loop.
	bare(ctx context.Context) error
	close() error
}

// starter is a contest whose own side has to be under way before it is measured.
type starter interface {
	start(ctx context.Context) error
}

// comparisons are all that is measured, in the order of the table.
var comparisons = []comparison{
	{name: "read", least: 4, times: 8, alone: true, open: openRead, note: "records of 1.5 KB with both images, eight times as many, a second of processor time; 4 shards, pages of 1 MB from a server in process; bare: GetRecords of the SDK's client in a loop for each shard"},
	{name: "handler", least: 10, alone: true, open: openHandler, note: "records of 1.5 KB with both images, a tenth of them TTL deletes, in events of 100, a second of processor time; bare: a function of events.DynamoDBEvent and attributevalue that does the same"},
	{name: "search, fast", least: 0.9, open: openSearch("fast"), note: "bare: the same bulk requests (index with external_gte), as many at once"},
	{name: "search, exact", least: 0.9, open: openSearch("exact"), note: "bare: the same bulk requests (scripted upserts), as many at once"},
	{name: "view", least: 0.8, open: openView, note: "bare: the same conditional writes by the same SDK client, as many at once"},
	{name: "archive, per item", least: 0.8, share: 4, open: openArchive(perItem), note: "bare: PutObject of the same bodies by the same SDK client, as many at once"},
	{name: "archive, log", least: 0.8, open: openArchive(log), note: "bare: the same lines compressed by the same library, and PutObject of them"},
}

// measure runs both sides in turn. Which goes first alternates.
func (c comparison) measure(ctx context.Context, s *servers, in *input, rounds int) (r result, err error) {
	if c.share > 1 || c.times > 1 {
		in = newInput(max(in.n*max(c.times, 1)/max(c.share, 1), 1))
	}
	r = result{name: c.name, n: in.n, least: c.least, note: c.note}
	contest, err := c.open(ctx, s, in)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, contest.close()) }()
	for i := range rounds {
		sides := []struct {
			run  func(context.Context) error
			took *[]time.Duration
		}{{contest.ours, &r.ours}, {contest.bare, &r.bare}}
		if i%2 == 1 {
			sides[0], sides[1] = sides[1], sides[0]
		}
		for _, side := range sides {
			if err := contest.fresh(ctx); err != nil {
				return r, err
			}
			if s, ok := contest.(starter); ok && side.took == &r.ours {
				if err := s.start(ctx); err != nil {
					return r, err
				}
			}
			clock := time.Now
			if c.alone {
				clock = processorTime
			}
			start := clock()
			if err := side.run(ctx); err != nil {
				return r, err
			}
			*side.took = append(*side.took, clock().Sub(start))
		}
		fmt.Fprintf(os.Stderr, "\r%s: round %d of %d ", c.name, i+1, rounds)
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	return r, nil
}

// drive runs a pipeline over the input, and fails where not every record was written.
func drive(ctx context.Context, p *pipeline.Pipeline, in *input) error {
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

// assemble is the pipeline of one sink, whose text in YAML is given.
func assemble(ctx context.Context, stores sinks.Stores, sink string) (*pipeline.Pipeline, error) {
	text := "version: 1\nname: bench\nsource: {table: bench}\nstate: {table: bench-state}\n" + sink
	cfg, err := config.Parse("bench.yaml", []byte(text), os.LookupEnv)
	if err != nil {
		return nil, err
	}
	return sinks.Assemble(ctx, cfg, stores, sinks.Finite())
}
