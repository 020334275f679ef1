package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/consumer"
	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// growthReaderRows compare the cost of a record for a consumer of a stream of many shards with the cost for a consumer
// of a single shard. The runner's row has prepared pages. These rows have the whole reader, which finds the shards,
// creates their leases, requests iterators and pages, writes checkpoints, and releases all leases. A shard costs that
// much, whatever it holds. So one row has shards as busy as those that a stream splits, and the other row has nearly
// empty shards.
func growthReaderRows() []row {
	busy := row{
		id:   "growth-reader",
		work: "a consumer over a stream of 10,000 shards of 1,000 records, from its first look at the lease table to its soft stop",
		peer: "itself over one shard of as many pages",
		note: "the stream answers from memory, in pages of 500 records",
		of:   cost, most: 1.1, rounds: 1, input: true,
		missed: "a shard itself takes some 100 µs: three or four writes of its lease, an iterator, and some five empty pages behind its records; nothing of it grows with the number of shards. More than half of the rest is the garbage collector, which goes through what is known of 10,000 shards and the pages that wait, with write barriers meanwhile; the remainder is memory that left the caches. Tried: room for 2 to 16 MB of pages that wait, not 64. Caches gain what the collector loses, as it runs three times as often",
		open:   openGrowthReader(500, 2),
	}
	idle := busy
	idle.variant, idle.most, idle.rounds = "nearly empty shards", 0, 3
	idle.work = "the same over 10,000 shards of 100 records"
	idle.note = "the stream answers from memory, in pages of 100 records: what is between the two is the cost of a shard, its lease made, checkpointed and let go, its iterator, and the empty pages behind its records"
	idle.open = openGrowthReader(ofShard, 1)
	return []row{busy, idle}
}

// openGrowthReader compares many shards, each with n pages of m records, with one shard that has all these pages.
func openGrowthReader(records, pages int) func(context.Context, *bench) (*contest, error) {
	return func(_ context.Context, b *bench) (*contest, error) {
		shards := manyShards
		if b.short {
			shards /= 5
		}
		s := newSheets(b.usual(), records)
		side := func(shards, pages int) side {
			return side{run: func(ctx context.Context) (sample, error) {
				return once(ctx, func(ctx context.Context) (int, error) { return readStream(ctx, &fastStream{s, shards, pages}) })
			}}
		}
		return &contest{ours: side(shards, pages), peer: side(1, shards*pages), close: collectAsCommands()}, nil
	}
}

// readStream reads a stream with a new consumer, and returns the number of records.
func readStream(ctx context.Context, s *fastStream) (int, error) {
	want := int64(s.records())
	var written atomic.Int64
	all := make(chan struct{})
	var once sync.Once
	p, err := pipeline.New(pipeline.Options{Name: "bench", Routes: []pipeline.Route{{Name: "discard", Sink: pipeline.SinkFunc(func(_ context.Context, ds []pipeline.Delivery) error {
		if written.Add(int64(len(ds))) >= want {
			once.Do(func() { close(all) })
		}
		return nil
	})}}})
	if err != nil {
		return 0, err
	}
	table := leases.NewMemory(leases.Snapshot{})
	c, err := consumer.New(consumer.Options{
		API: s, Table: table,
		Gaps: pipeline.GapFunc(func(context.Context, record.Gap) error { return errors.New("nothing is lost") }),
		// This stream has no quota for which a listing would have to wait. Leases are long because a worker on a busy machine
		// must not be taken for dead, and its shards read again.
		Coordinator: coordinator.Options{Name: "bench", Sources: []coordinator.Source{{Stream: streamARN}}, DescribeRate: 1e6, Lease: time.Minute},
	})
	if err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, c, c) }()
	select {
	case <-all:
		p.Stop(ctx)
		err = <-ended
	case err = <-ended:
		err = errors.Join(err, errors.New("it ended before all was read"))
	}
	if err = errors.Join(err, c.Close(context.WithoutCancel(ctx))); err != nil {
		return 0, err
	}
	if n := written.Load(); n != want {
		return 0, fmt.Errorf("%d records were written of %d", n, want)
	}
	return int(want), errors.Join(p.Ledger().Check(), s.readOut(ctx, table))
}

// readOut returns an error unless, by their leases, all shards were read to their last record and released.
func (s *fastStream) readOut(ctx context.Context, table leases.Table) error {
	got, err := table.Read(ctx)
	if err != nil {
		return err
	}
	done := 0
	for _, l := range got.Leases {
		if l.Owner == "" && l.Checkpoint == leases.After(s.last()) {
			done++
		}
	}
	if done != s.shards {
		return fmt.Errorf("%d of %d shards were read to their last record and let go", done, s.shards)
	}
	return nil
}
