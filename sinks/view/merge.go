package view

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// merger reads a table and puts the shards of groups together.
type merger struct {
	table   Table
	query   Query
	sharded map[string]*Groups // by the aggregate's name
	groups  map[string]*group  // by aggregate and key
	plain   []Row              // rows that are of no sharded aggregate
}

// group is what the shards of one group come to so far.
type group struct {
	of     *Groups
	row    Row              // without an item
	values []pipeline.Value // in the order of Groups.Values; absent where no shard has one
}

// rows are all rows that the query selects, in the order of their keys.
func (m *merger) rows(ctx context.Context, r Reader) ([]Row, error) {
	if err := m.gather(ctx, r); err != nil {
		return nil, err
	}
	rows := m.plain
	for _, g := range m.groups {
		row, err := g.whole(m.table)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		if c := strings.Compare(sortText(a.PK), sortText(b.PK)); c != 0 {
			return c
		}
		return strings.Compare(sortText(a.SK), sortText(b.SK))
	})
	return rows, nil
}

func sortText(v pipeline.Value) string {
	text, _ := state.Sortable(v)
	return text
}

// gather reads the rows of the query, and where that names a partition key, those of its shards.
func (m *merger) gather(ctx context.Context, r Reader) error {
	q := m.query
	q.Limit = 0
	if err := m.read(ctx, r, q); err != nil {
		return err
	}
	text, ok := q.PK.Text()
	if !ok {
		return nil // all were asked for, or a key that no shard has: that is an S
	}
	most := 0
	for _, g := range m.sharded {
		most = max(most, g.Shards)
	}
	for shard := range most {
		q.PK = pipeline.StringValue(text + shardMark + strconv.Itoa(shard))
		if err := m.read(ctx, r, q); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) read(ctx context.Context, r Reader, q Query) error {
	for row, err := range r.Rows(ctx, m.table, q) {
		if err != nil {
			return err
		}
		g := m.sharded[row.View]
		if g != nil {
			text, _ := row.PK.Text()
			base := text[:max(0, strings.LastIndex(text, shardMark))]
			row.PK = pipeline.StringValue(base)
			if !strings.HasPrefix(base, m.query.PKPrefix) {
				continue
			}
		}
		switch {
		case m.query.PK.Exists() && !row.PK.Equal(m.query.PK): // it only looks like a shard of the key asked for
		case g == nil:
			m.plain = append(m.plain, row)
		default:
			m.group(g, row).add(row)
		}
	}
	return nil
}

func (m *merger) group(of *Groups, row Row) *group {
	key := row.View + "\x00" + row.PK.String() + "\x00" + row.SK.String()
	g := m.groups[key]
	if g == nil {
		g = &group{of: of, row: row, values: make([]pipeline.Value, len(of.Values))}
		m.groups[key] = g
	}
	return g
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
func combine(of string, a, b pipeline.Value) pipeline.Value {
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
func numberOf(v pipeline.Value) state.Number {
	if d, ok := v.Number(); ok {
		return state.NumberOf(d)
	}
	text, _ := v.Text()
	n, _ := state.ParseNumber(text)
	return n
}

// whole is the group's row.
func (g *group) whole(t Table) (Row, error) {
	b := append(pipeline.StringValue(t.PK).AppendJSON([]byte{'{'}), ':')
	b = g.row.PK.AppendDynamoDBJSON(b)
	add := func(name string, v pipeline.Value) {
		if v.Exists() {
			b = append(pipeline.StringValue(name).AppendJSON(append(b, ',')), ':')
			b = v.AppendDynamoDBJSON(b)
		}
	}
	add(t.SK, g.row.SK)
	for i, v := range g.of.Values {
		add(v.Name, g.values[i])
	}
	row := g.row
	var err error
	row.Item, err = pipeline.ParseImage(append(b, '}'))
	return row, err
}
