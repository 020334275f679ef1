package view

import (
	"context"
	"iter"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/internal/seq"
)

// GroupRows reads each group of an aggregate as one row, even if the group is spread over shards, which are separate
// rows. It adds up the counts, sums and distincts of the shards exactly. It takes the least min and the greatest max. A
// service that reads an aggregate sets the fields of GroupRows as in the configuration:
//
//	revenue := view.GroupRows{
//		Table:     view.Table{Name: "shop-views", PK: "PK", SK: "SK"},
//		Aggregate: "revenue_per_day",
//		Values:    []view.Value{{Name: "revenue", Kind: "sum"}, {Name: "orders", Kind: "count"}},
//		Shards:    4,
//	}
//	row, ok, err := revenue.Get(ctx, reader, item.StringValue("REVENUE#EUR"), item.StringValue("2026-01-02"))
type GroupRows struct {
	Table     Table
	Aggregate string  // name of the sink
	Values    []Value // only Name and Kind are used
	Shards    int     // Default: 1
}

// Groups returns the reader of the aggregate's groups.
func (a *Aggregate) Groups() GroupRows {
	return GroupRows{Table: a.target.Table, Aggregate: a.target.View, Values: a.Values(), Shards: a.shards}
}

// Get returns the row of one group; false if there is none. sk is absent if the table has no sort key. If there is more
// than one shard, pk must be an S. If the group's key is a number or a binary, pk is the text that a template makes of
// it. Errors come from the reader.
func (g GroupRows) Get(ctx context.Context, r Reader, pk, sk item.Value) (Row, bool, error) {
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

// All returns the rows of the groups that q selects, sorted by their keys. If the aggregate has shards, it reads all
// these groups into memory before it yields the first one.
func (g GroupRows) All(ctx context.Context, r Reader, q Query) iter.Seq2[Row, error] {
	limit := q.Limit
	q.Limit = 0
	rows := seq.Map(MergedRows(ctx, r, g.Table, q, g), func(row Row) (Row, bool, error) {
		return row, row.View == g.Aggregate, nil
	})
	return seq.Limit(rows, limit)
}

// MergedRows yields the rows of a table, like [Reader.Rows], but merges the shards of each group of the aggregates gs
// into one row. It yields the rows of views and of other aggregates as they are. If an aggregate of gs has shards,
// MergedRows reads the table twice, and has all groups of the aggregates with shards in memory.
func MergedRows(ctx context.Context, r Reader, t Table, q Query, gs ...GroupRows) iter.Seq2[Row, error] {
	sharded := make(map[string]*GroupRows)
	for i := range gs {
		if gs[i].Shards > 1 {
			sharded[gs[i].Aggregate] = &gs[i]
		}
	}
	if len(sharded) == 0 {
		return r.Rows(ctx, t, q)
	}
	reader := groupReader{table: t, query: q, sharded: sharded, reader: r}
	return reader.readRows(ctx)
}
