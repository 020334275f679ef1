package main

import (
	"context"
	"fmt"
)

// The lengths of a stream, in records.
const (
	shortStream = 1_000
	longStream  = 1_000_000
)

// growthRecordsRows compare the cost of a record in a long stream with the cost in a short one.
func growthRecordsRows() []row {
	return []row{{
		id:   "growth-records",
		work: "the whole pipeline over a stream of 1,000,000 records, each page in memory of its own",
		peer: "itself over streams of 1,000 records",
		of:   cost, most: 1.1, rounds: 3, input: true,
		open: func(ctx context.Context, b *bench) (*contest, error) {
			n := longStream
			if b.short {
				n /= 5
			}
			long, err := newStream(ctx, b.usual(), n, 1)
			if err != nil {
				return nil, err
			}
			short, err := newStream(ctx, b.usual(), shortStream, 1)
			if err != nil {
				return nil, err
			}
			return b.growth(ctx, long, short)
		},
	}}
}

// newStream returns a pipeline over about n records of m shards, in pages of at most a megabyte.
func newStream(ctx context.Context, s *shape, records, shards int) (*whole, error) {
	const different = 8_000 // number of different records in the stream
	each := min(pageRecords, max(records/shards, 1))
	var bodies [][]byte
	have := 0
	for have < min(records, different) {
		body, n := s.pageOf(have, min(each, records-have))
		bodies, have = append(bodies, body), have+n
	}
	w, err := newWhole(ctx, s, bodies)
	if err != nil {
		return nil, err
	}
	w.passes, w.fresh = max(1, records/have), true
	w.shards = make([]string, shards)
	for i := range w.shards {
		w.shards[i] = fmt.Sprintf("shard-%05d", i)
	}
	return w, nil
}

// pageOf returns a page of at most n records, and their number.
func (s *shape) pageOf(i, most int) ([]byte, int) {
	return s.fill(`{"NextShardIterator":"`+streamARN+`|1|next","Records":[`, `]}`, i, most, pageBytes, savedRecord.appendStreams)
}

// growth compares the cost of a record in two streams.
func (b *bench) growth(ctx context.Context, grown, before *whole) (*contest, error) {
	for _, w := range []*whole{grown, before} {
		if _, err := w.run(ctx); err != nil {
			return nil, err
		}
	}
	// The allocations are not counted, because that would take as long again.
	return &contest{ours: side{run: b.inProcess(grown.run).run}, peer: side{run: b.inProcess(before.run).run}, close: collectAsCommands()}, nil
}
