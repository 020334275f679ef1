package main

import "context"

const (
	manyShards = 10_000
	ofShard    = 100 // records of a shard
)

// growthShardsRows compare the cost of a record in a stream of many shards with the cost in a stream of one shard.
func growthShardsRows() []row {
	return []row{{
		id:   "growth-shards",
		work: "the whole pipeline over 10,000 shards of 100 records",
		peer: "itself over one shard of as many pages",
		of:   cost, most: 1.1, rounds: 3, input: true,
		open: func(ctx context.Context, b *bench) (*contest, error) {
			shards := manyShards
			if b.short {
				shards /= 5
			}
			many, err := newStream(ctx, b.usual(), shards*ofShard, shards)
			if err != nil {
				return nil, err
			}
			one, err := newStream(ctx, b.usual(), shards*ofShard, shards)
			if err != nil {
				return nil, err
			}
			one.shards = one.shards[:1]
			return b.growth(ctx, many, one)
		},
	}}
}
