package view

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/internal/seq"
	"github.com/tablewake/tablewake/sinks/state"
)

// groupReader reads a table and merges the shards of groups.
type groupReader struct {
	table   Table
	query   Query
	sharded map[string]*GroupRows // aggregates with shards, by name
	reader  Reader
}

// mergedGroup is one group, with the values of the shards that have been read so far.
type mergedGroup struct {
	spec   *GroupRows
	row    Row          // row of the group; its Item is not set yet
	values []item.Value // values in the order of GroupRows.Values; a value is absent if no shard has it
}

// readRows returns the merged groups and the other rows of the table, in the order of their keys.
func (r *groupReader) readRows(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		groups, err := r.readGroups(ctx)
		if err != nil {
			yield(Row{}, err)
			return
		}
		others, stop := iter.Pull2(r.readOtherRows(ctx))
		defer stop()
		rows := mergeRows([]pullRows{others, pullSlice(groups)}, byKey, r.query.Reverse)
		seq.Limit(rows, r.query.Limit)(yield)
	}
}

// readOtherRows returns the rows of the table that are not shards of groups.
func (r *groupReader) readOtherRows(ctx context.Context) iter.Seq2[Row, error] {
	q := r.query
	q.Limit = 0
	return seq.Map(r.reader.Rows(ctx, r.table, q), func(row Row) (Row, bool, error) {
		return row, r.sharded[row.View] == nil, nil
	})
}

// readGroups returns the groups that the query selects, each as one row, in the order of the query.
func (r *groupReader) readGroups(ctx context.Context) ([]Row, error) {
	queries := []Query{r.query}
	if r.query.PK.Exists() {
		queries = r.shardQueries()
	}
	parts, err := r.readShards(ctx, queries)
	if err != nil {
		return nil, err
	}

	groups := make(map[string]*mergedGroup)
	for _, row := range slices.Concat(parts...) {
		key := row.View + "\x00" + row.PK.String() + "\x00" + row.SK.String()
		if groups[key] == nil {
			spec := r.sharded[row.View]
			groups[key] = &mergedGroup{spec: spec, row: row, values: make([]item.Value, len(spec.Values))}
		}
		groups[key].add(row)
	}

	rows := make([]Row, 0, len(groups))
	for _, g := range groups {
		row, err := g.toRow(r.table)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, compareKeys)
	if r.query.Reverse {
		slices.Reverse(rows)
	}
	return rows, nil
}

// readShards reads the rows of shards that the queries select. It runs several queries at the same time. In each row it
// replaces the partition key of the shard by that of the group.
func (r *groupReader) readShards(ctx context.Context, queries []Query) ([][]Row, error) {
	parts := make([][]Row, len(queries))
	err := readInParallel(ctx, len(queries), func(ctx context.Context, i int) error {
		q := queries[i]
		q.Limit = 0
		for row, err := range r.reader.Rows(ctx, r.table, q) {
			if err != nil {
				return err
			}
			if r.sharded[row.View] == nil {
				continue
			}
			row.PK = groupKey(row.PK)
			if r.selects(row.PK) {
				parts[i] = append(parts[i], row)
			}
		}
		return nil
	})
	return parts, err
}

// shardQueries returns a query for each shard of the requested partition key.
func (r *groupReader) shardQueries() []Query {
	text, ok := r.query.PK.Text()
	if !ok {
		return nil // the partition key of a sharded row is an S
	}
	shards := 0
	for _, g := range r.sharded {
		shards = max(shards, g.Shards)
	}
	queries := make([]Query, shards)
	for shard := range queries {
		queries[shard] = r.query
		queries[shard].PK = item.StringValue(text + shardSeparator + strconv.Itoa(shard))
	}
	return queries
}

// groupKey returns the partition key of the group whose shard has the partition key shardKey.
func groupKey(shardKey item.Value) item.Value {
	text, _ := shardKey.Text()
	return item.StringValue(text[:max(0, strings.LastIndex(text, shardSeparator))])
}

// selects reports whether the query selects a group by its partition key.
func (r *groupReader) selects(pk item.Value) bool {
	text, _ := pk.Text()
	isRequested := !r.query.PK.Exists() || pk.Equal(r.query.PK)
	return isRequested && strings.HasPrefix(text, r.query.PKPrefix)
}

// add adds the values of a shard's row.
func (g *mergedGroup) add(row Row) {
	for i, v := range g.spec.Values {
		if value, ok := row.Item.Get(v.Name); ok {
			g.values[i] = combineValues(v.Kind, g.values[i], value)
		}
	}
	if row.Version.Compare(g.row.Version) > 0 {
		g.row.Version = row.Version
	}
}

// combineValues combines the values a and b of two shards. kind is a [Value.Kind]. If a is absent, the result is b.
func combineValues(kind string, a, b item.Value) item.Value {
	if !a.Exists() {
		return b
	}
	isLess := func(x, y item.Value) bool { return sortText(x) < sortText(y) }
	switch kind {
	case kindNames[minKind]:
		if isLess(a, b) {
			return a
		}
		return b
	case kindNames[maxKind]:
		if isLess(a, b) {
			return b
		}
		return a
	default:
		return numberOf(a).Add(numberOf(b)).Value()
	}
}

// numberOf parses a value made by [state.Number.Value].
func numberOf(v item.Value) state.Number {
	if d, ok := v.Number(); ok {
		return state.NumberOf(d)
	}
	text, _ := v.Text()
	n, _ := state.ParseNumber(text)
	return n
}

// toRow returns the group's row.
func (g *mergedGroup) toRow(t Table) (Row, error) {
	row := g.row
	b := item.AppendMember([]byte{'{'}, t.PK, row.PK)
	b = item.AppendMember(b, t.SK, row.SK)
	for i, v := range g.spec.Values {
		b = item.AppendMember(b, v.Name, g.values[i])
	}
	var err error
	row.Item, err = item.Parse(append(b, '}'))
	return row, err
}
