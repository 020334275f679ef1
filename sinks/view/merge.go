package view

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/internal/parallel"
	"github.com/tablewake/tablewake/sinks/state"
)

// merger reads a table and puts the shards of groups together.
type merger struct {
	table   Table
	query   Query
	sharded map[string]*Groups // by the aggregate's name
	reader  Reader
}

// group is what the shards of one group come to so far.
type group struct {
	of     *Groups
	row    Row          // without an item
	values []item.Value // in the order of Groups.Values; absent where no shard has one
}

// rows are the groups and the rows of others, in the order of their keys.
func (m *merger) rows(ctx context.Context) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		groups, err := m.groups(ctx)
		if err != nil {
			yield(Row{}, err)
			return
		}
		n := 0
		put := func(row Row) bool {
			n++
			return yield(row, nil) && n != m.query.Limit
		}
		q := m.query
		q.Limit = 0
		for row, err := range m.reader.Rows(ctx, m.table, q) {
			if err != nil {
				yield(Row{}, err)
				return
			}
			if m.sharded[row.View] != nil {
				continue
			}
			for len(groups) > 0 && compareKeys(groups[0], row) < 0 {
				if !put(groups[0]) {
					return
				}
				groups = groups[1:]
			}
			if !put(row) {
				return
			}
		}
		for _, row := range groups {
			if !put(row) {
				return
			}
		}
	}
}

func compareKeys(a, b Row) int {
	return cmp.Or(strings.Compare(sortText(a.PK), sortText(b.PK)), strings.Compare(sortText(a.SK), sortText(b.SK)))
}

func sortText(v item.Value) string {
	text, _ := state.SortableText(v)
	return text
}

// groups are the groups that the query selects, each as one row, in the order of their keys.
func (m *merger) groups(ctx context.Context) ([]Row, error) {
	queries := []Query{m.query}
	if m.query.PK.Exists() {
		queries = m.ofShards()
	}
	parts, err := m.gather(ctx, queries)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*group)
	for _, row := range slices.Concat(parts...) {
		key := row.View + "\x00" + row.PK.String() + "\x00" + row.SK.String()
		if found[key] == nil {
			of := m.sharded[row.View]
			found[key] = &group{of: of, row: row, values: make([]item.Value, len(of.Values))}
		}
		found[key].add(row)
	}
	rows := make([]Row, 0, len(found))
	for _, g := range found {
		row, err := g.whole(m.table)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, compareKeys)
	return rows, nil
}

// together is how many shards are read at once.
const together = 16

// gather reads the shards' rows that queries select, several at once, and gives
// each the partition key of its group.
func (m *merger) gather(ctx context.Context, queries []Query) ([][]Row, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := make([][]Row, len(queries))
	read := func(i int) error {
		q := queries[i]
		q.Limit = 0
		for row, err := range m.reader.Rows(ctx, m.table, q) {
			if err != nil {
				return err
			}
			if m.sharded[row.View] != nil && m.whole(&row) {
				parts[i] = append(parts[i], row)
			}
		}
		return nil
	}
	var once sync.Once
	var failed error // the first by time; the later ones come from the cancelling
	parallel.Each(len(queries), together, func(i int) error {
		err := read(i)
		if err != nil {
			once.Do(func() { failed = err })
			cancel(err)
		}
		return err
	})
	return parts, failed
}

// ofShards are the queries for the shards of the partition key asked for.
func (m *merger) ofShards() []Query {
	text, ok := m.query.PK.Text()
	if !ok {
		return nil // the partition key of a sharded row is an S
	}
	most := 0
	for _, g := range m.sharded {
		most = max(most, g.Shards)
	}
	queries := make([]Query, most)
	for shard := range queries {
		queries[shard] = m.query
		queries[shard].PK = item.StringValue(text + shardMark + strconv.Itoa(shard))
	}
	return queries
}

// whole gives a shard's row the partition key of its group; false where that was not asked for.
func (m *merger) whole(row *Row) bool {
	text, _ := row.PK.Text()
	base := text[:max(0, strings.LastIndex(text, shardMark))]
	row.PK = item.StringValue(base)
	return strings.HasPrefix(base, m.query.PKPrefix) && (!m.query.PK.Exists() || row.PK.Equal(m.query.PK))
}

// add puts a shard's row to the others.
func (g *group) add(row Row) {
	for i, v := range g.of.Values {
		if value, ok := row.Item.Get(v.Name); ok {
			g.values[i] = combine(v.Of, g.values[i], value)
		}
	}
	if row.Version.Compare(g.row.Version) > 0 {
		g.row.Version = row.Version
	}
}

// combine is one value of two shards. a may be absent.
func combine(of string, a, b item.Value) item.Value {
	switch {
	case !a.Exists():
		return b
	case of == ofs[least] || of == ofs[greatest]:
		if strings.Compare(sortText(a), sortText(b)) < 0 == (of == ofs[least]) {
			return a
		}
		return b
	default:
		return numberOf(a).Add(numberOf(b)).Value()
	}
}

// numberOf reads what [state.Number.Value] makes.
func numberOf(v item.Value) state.Number {
	if d, ok := v.Number(); ok {
		return state.NumberOf(d)
	}
	text, _ := v.Text()
	n, _ := state.ParseNumber(text)
	return n
}

// whole is the group's row.
func (g *group) whole(t Table) (Row, error) {
	b := append(item.StringValue(t.PK).AppendJSON([]byte{'{'}), ':')
	b = g.row.PK.AppendDynamoDBJSON(b)
	add := func(name string, v item.Value) {
		if v.Exists() {
			b = append(item.StringValue(name).AppendJSON(append(b, ',')), ':')
			b = v.AppendDynamoDBJSON(b)
		}
	}
	add(t.SK, g.row.SK)
	for i, v := range g.of.Values {
		add(v.Name, g.values[i])
	}
	row := g.row
	var err error
	row.Item, err = item.Parse(append(b, '}'))
	return row, err
}
