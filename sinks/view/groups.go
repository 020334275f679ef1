package view

import (
	"context"
	"iter"

	"github.com/tablewake/tablewake/pipeline/item"
)

// Groups reads the groups of an aggregate back as one row each, also where each of
// them is spread over shards. Counts, sums and distincts are added up, exactly;
// of min and max the least and the greatest stands. A service that reads an aggregate
// fills it in by itself, as the configuration has it:
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
	Values    []Value // Name and Of are read
	Shards    int     // Default: 1
}

// Groups reads what the aggregate writes.
func (a *Aggregate) Groups() Groups {
	g := Groups{Table: a.target.Table, Aggregate: a.target.View, Shards: a.shards}
	for _, v := range a.values {
		g.Values = append(g.Values, v.Value)
	}
	return g
}

// Get is the row of one group; false where there is none. With more than one
// shard the partition key is an S: a number's or a binary's text, as in a
// template. sk is absent where the table has none. Errors are the reader's.
func (g Groups) Get(ctx context.Context, r Reader, pk, sk item.Value) (Row, bool, error) {
	prefix, _ := sk.Text()
	for row, err := range g.All(ctx, r, Query{PK: pk, SKPrefix: prefix}) {
		if err != nil {
			return Row{}, false, err
		}
		if row.SK.Equal(sk) {
			return row, true, nil
		}
	}
	return Row{}, false, nil
}

// All are the rows of all groups that q selects, in the order of their keys. Those of
// a sharded aggregate are held before the first one is yielded.
func (g Groups) All(ctx context.Context, r Reader, q Query) iter.Seq2[Row, error] {
	limit := q.Limit
	q.Limit = 0
	return func(yield func(Row, error) bool) {
		n := 0
		for row, err := range Merged(ctx, r, g.Table, q, g) {
			if err == nil && row.View != g.Aggregate {
				continue
			}
			if n++; !yield(row, err) || n == limit {
				return
			}
		}
	}
}

// Merged reads a table as [Reader.Rows] does, with one row for each group of
// the aggregates gs. Rows of views, and of other aggregates, come as they are. Where an
// aggregate is sharded, the table is read twice, and all its groups are held meanwhile.
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
	m := merger{table: t, query: q, sharded: sharded, reader: r}
	return m.rows(ctx)
}
