package view

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// groupReader reads a table and merges the shards of groups.
type groupReader struct {
	table   Table
	query   Query
	sharded map[string]*GroupRows // aggregates with shards, by name
	reader  Reader
}

// mergedGroup is one group with the values of the shards that were read so far.
type mergedGroup struct {
	spec   *GroupRows
	row    Row          // row of the group; its Item is not set yet
	values []item.Value // values in the order of GroupRows.Values; a value is absent if no shard has it
}

// readRows returns the merged groups and the other rows of the table, in the order of their keys.
func (m *groupReader) readRows(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		groups, err := m.mergedRows(ctx)
		if err != nil {
			yield(Row{}, err)
			return
		}
		others, stop := iter.Pull2(m.otherRows(ctx))
		defer stop()
		n := 0
		for row, err := range mergeRows([]pullRows{others, pullSlice(groups)}, byKey, m.query.Reverse) {
			if n++; !yield(row, err) || n == m.query.Limit {
				return
			}
		}
	}
}

// otherRows returns the rows of the table that are not shards of groups.
func (m *groupReader) otherRows(ctx context.Context) iter.Seq2[Row, error] {
	q := m.query
	q.Limit = 0
	return func(yield func(Row, error) bool) {
		for row, err := range m.reader.Rows(ctx, m.table, q) {
			if err == nil && m.sharded[row.View] != nil {
				continue
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// mergedRows returns the groups that the query selects, each as one row, in the order of the query.
func (m *groupReader) mergedRows(ctx context.Context) ([]Row, error) {
	queries := []Query{m.query}
	if m.query.PK.Exists() {
		queries = m.shardQueries()
	}
	parts, err := m.readShards(ctx, queries)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*mergedGroup)
	for _, row := range slices.Concat(parts...) {
		key := row.View + "\x00" + row.PK.String() + "\x00" + row.SK.String()
		if found[key] == nil {
			spec := m.sharded[row.View]
			found[key] = &mergedGroup{spec: spec, row: row, values: make([]item.Value, len(spec.Values))}
		}
		found[key].add(row)
	}
	rows := make([]Row, 0, len(found))
	for _, g := range found {
		row, err := g.toRow(m.table)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, compareKeys)
	if m.query.Reverse {
		slices.Reverse(rows)
	}
	return rows, nil
}

// readShards reads the rows of shards that the queries select, several queries at the same time. It replaces the
// partition key of each row by the partition key of its group.
func (m *groupReader) readShards(ctx context.Context, queries []Query) ([][]Row, error) {
	parts := make([][]Row, len(queries))
	err := readInParallel(ctx, len(queries), func(ctx context.Context, i int) error {
		q := queries[i]
		q.Limit = 0
		for row, err := range m.reader.Rows(ctx, m.table, q) {
			if err != nil {
				return err
			}
			if m.sharded[row.View] != nil && m.toGroupKey(&row) {
				parts[i] = append(parts[i], row)
			}
		}
		return nil
	})
	return parts, err
}

// shardQueries returns a query for each shard of the requested partition key.
func (m *groupReader) shardQueries() []Query {
	text, ok := m.query.PK.Text()
	if !ok {
		return nil // the partition key of a sharded row is an S
	}
	shards := 0
	for _, g := range m.sharded {
		shards = max(shards, g.Shards)
	}
	queries := make([]Query, shards)
	for shard := range queries {
		queries[shard] = m.query
		queries[shard].PK = item.StringValue(text + shardSeparator + strconv.Itoa(shard))
	}
	return queries
}

// toGroupKey replaces the partition key of a shard's row by the partition key of its group. It returns false if the
// query does not select the group.
func (m *groupReader) toGroupKey(row *Row) bool {
	text, _ := row.PK.Text()
	base := text[:max(0, strings.LastIndex(text, shardSeparator))]
	row.PK = item.StringValue(base)
	return strings.HasPrefix(base, m.query.PKPrefix) && (!m.query.PK.Exists() || row.PK.Equal(m.query.PK))
}

// add adds the values of a shard's row.
func (g *mergedGroup) add(row Row) {
	for i, v := range g.spec.Values {
		if value, ok := row.Item.Get(v.Name); ok {
			g.values[i] = combineValues(v.Of, g.values[i], value)
		}
	}
	if row.Version.Compare(g.row.Version) > 0 {
		g.row.Version = row.Version
	}
}

// combineValues returns the value of two shards together. kind is a name of [Value.Of]. If a is absent, the result is
// b.
func combineValues(kind string, a, b item.Value) item.Value {
	switch {
	case !a.Exists():
		return b
	case kind == kindNames[minKind] || kind == kindNames[maxKind]:
		if strings.Compare(sortText(a), sortText(b)) < 0 == (kind == kindNames[minKind]) {
			return a
		}
		return b
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
	b := append(item.StringValue(t.PK).AppendJSON([]byte{'{'}), ':')
	b = g.row.PK.AppendDynamoDBJSON(b)
	add := func(name string, v item.Value) {
		if v.Exists() {
			b = append(item.StringValue(name).AppendJSON(append(b, ',')), ':')
			b = v.AppendDynamoDBJSON(b)
		}
	}
	add(t.SK, g.row.SK)
	for i, v := range g.spec.Values {
		add(v.Name, g.values[i])
	}
	row := g.row
	var err error
	row.Item, err = item.Parse(append(b, '}'))
	return row, err
}
