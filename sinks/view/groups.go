package view

import (
	"context"
	"iter"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Groups reads the groups of an aggregate as one row each, even if a group is spread over shards. The counts, sums
// and distincts of the shards are added up exactly; the least min and the greatest max are taken. A service that
// reads an aggregate fills in Groups as the configuration has it:
//
//	revenue := view.Groups{
//		Table:     view.Table{Name: "shop-views", PK: "PK", SK: "SK"},
//		Aggregate: "revenue_per_day",
//		Values:    []view.Value{{Name: "revenue", Of: "sum"}, {Name: "orders", Of: "count"}},
//		Shards:    4,
//	}
//	row, ok, err := revenue.Get(ctx, reader, item.StringValue("REVENUE#EUR"), item.StringValue("2026-01-02"))
type Groups struct {
	Table     Table
	Aggregate string  // name of the sink
	Values    []Value // only Name and Of are used
	Shards    int     // Default: 1
}

// Groups returns the reader of the aggregate's groups.
func (a *Aggregate) Groups() Groups {
	return Groups{Table: a.target.Table, Aggregate: a.target.View, Values: a.Values(), Shards: a.shards}
}

// Get returns the row of one group; false if there is none. With more than one shard the partition key is an S: for
// a number or a binary the text that a template makes of it. sk is absent if the table has no sort key. Errors come
// from the reader.
func (g Groups) Get(ctx context.Context, r Reader, pk, sk item.Value) (Row, bool, error) {
	for row, err := range g.All(ctx, r, Query{PK: pk, From: sk, To: sk}) {
		if err != nil {
			return Row{}, false, err
		}
		if row.SK.Equal(sk) {
			return row, true, nil
		}
	}
	return Row{}, false, nil
}

// All returns the rows of the groups that q selects, in the order of their keys. If the aggregate has shards, all
// these groups are in memory before the first one is yielded.
func (g Groups) All(ctx context.Context, r Reader, q Query) iter.Seq2[Row, error] {
	limit := q.Limit
	q.Limit = 0
	return func(yield func(Row, error) bool) {
		yielded := 0
		for row, err := range Merged(ctx, r, g.Table, q, g) {
			if err == nil && row.View != g.Aggregate {
				continue
			}
			if yielded++; !yield(row, err) || yielded == limit {
				return
			}
		}
	}
}

// Merged reads a table as [Reader.Rows] does, with one row for each group of the aggregates gs. Rows of views and
// of other aggregates are not changed. If an aggregate has shards, the table is read twice, and all its groups are
// in memory.
func Merged(ctx context.Context, r Reader, t Table, q Query, gs ...Groups) iter.Seq2[Row, error] {
	sharded := make(map[string]*Groups)
	for i := range gs {
		if gs[i].Shards > 1 {
			sharded[gs[i].Aggregate] = &gs[i]
		}
	}
	if len(sharded) == 0 {
		return r.Rows(ctx, t, q)
	}
	m := groupReader{table: t, query: q, sharded: sharded, reader: r}
	return m.rows(ctx)
}
