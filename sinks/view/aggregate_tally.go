package view

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// tally is what contributions change in the rows of their groups, merged by row.
type tally struct {
	of      *Aggregate
	index   map[state.Row]int
	rows    []rowTally
	members int
}

// rowTally is what changes in one row.
type rowTally struct {
	row     state.Row
	shares  int64 // that touch the row
	entries int64 // shares of items of the row: what a count counts
	sums    []state.Number
	members []Member
	version pipeline.Version
}

func (a *Aggregate) tally() *tally {
	return &tally{of: a, index: make(map[state.Row]int)}
}

func (t *tally) reset() {
	clear(t.index)
	t.rows, t.members = t.rows[:0], 0
}

// row is the tally of a row, a new one where it was not touched before.
func (t *tally) row(row state.Row) *rowTally {
	i, ok := t.index[row]
	if !ok {
		i = len(t.rows)
		t.index[row] = i
		t.rows = slices.Grow(t.rows, 1)[:i+1]
		r := &t.rows[i] // with the memory that an earlier lane left there, or none
		sums := slices.Grow(r.sums[:0], len(t.of.values))[:len(t.of.values)]
		clear(sums)
		*r = rowTally{row: row, sums: sums, members: r.members[:0]}
	}
	return &t.rows[i]
}

// lane adds what a lane changes.
func (t *tally) lane(l *lane) error {
	p := poster{tally: t, key: l.key, shard: t.of.shardOf(string(l.key)), version: l.now.Version}
	for _, s := range l.spans {
		if err := p.span(s); err != nil {
			return fmt.Errorf("what item %s counts for: %w", l.key, err)
		}
	}
	return nil
}

// merge adds another tally.
func (t *tally) merge(o *tally) {
	for i := range o.rows {
		from, to := &o.rows[i], t.row(o.rows[i].row)
		to.shares += from.shares
		to.entries += from.entries
		for v := range from.sums {
			to.sums[v] = to.sums[v].Add(from.sums[v])
		}
		to.members = append(to.members, from.members...)
		if from.version.Compare(to.version) > 0 {
			to.version = from.version
		}
	}
	t.members += o.members
}

// changes are the tally as a store takes it, without rows that stay as they are.
func (t *tally) changes() []GroupChange {
	var cs []GroupChange
	for i := range t.rows {
		r := &t.rows[i]
		c := GroupChange{Row: r.row, Shares: r.shares, Members: r.members, Version: r.version}
		idle := r.shares == 0 && r.entries == 0 && len(r.members) == 0
		for v, val := range t.of.values {
			switch val.of {
			case count:
				c.Counts = append(c.Counts, Add{val.Name, state.NumberOf(pipeline.DecimalOf(r.entries))})
			case sum:
				c.Sums = append(c.Sums, Add{val.Name, r.sums[v]})
				idle = idle && r.sums[v].Sign() == 0
			}
		}
		if !idle {
			cs = append(cs, c)
		}
	}
	return cs
}

// poster posts what one item counts for to a tally.
type poster struct {
	*tally
	key     pipeline.Key
	shard   int
	version pipeline.Version
}

// span posts the difference. Shares are compared one by one, in their order,
// which their members' IDs hold.
func (p *poster) span(s span) error {
	for i := range max(len(s.from.Shares), len(s.to.Shares)) {
		var from, to *state.Share
		if i < len(s.from.Shares) {
			from = &s.from.Shares[i]
		}
		if i < len(s.to.Shares) {
			to = &s.to.Shares[i]
		}
		if err := p.check(from, to); err != nil {
			return err
		}
		same := from != nil && to != nil && from.Group == to.Group
		for v := range p.of.values {
			if same && from.Values[v] == to.Values[v] && (!p.of.keep || s.from.Since == s.to.Since) {
				continue
			}
			if err := p.value(v, from, s.from.Since, i, -1); err != nil {
				return err
			}
			if err := p.value(v, to, s.to.Since, i, 1); err != nil {
				return err
			}
		}
		if !same {
			p.visit(from, -1)
			p.visit(to, 1)
		}
	}
	return nil
}

// check compares the number of values with the aggregate's.
func (p *poster) check(shares ...*state.Share) error {
	for _, s := range shares {
		if s != nil && len(s.Values) != len(p.of.values) {
			return fmt.Errorf("it has %d values, and the aggregate %d", len(s.Values), len(p.of.values))
		}
	}
	return nil
}

// in is the row of a share's group in a shard.
func (p *poster) in(s *state.Share, shard int) *rowTally {
	r := p.row(p.of.shardRow(s.Group, shard))
	if p.version.Compare(r.version) > 0 {
		r.version = p.version
	}
	return r
}

// visit counts a share that comes, or goes.
func (p *poster) visit(s *state.Share, sign int64) {
	if s == nil {
		return
	}
	r := p.in(s, p.shard)
	r.shares += sign
	r.entries += sign
}

// value posts one value of a share that comes, or goes.
func (p *poster) value(v int, s *state.Share, since pipeline.Version, ordinal int, sign int64) error {
	if s == nil || s.Values[v] == "" {
		return nil
	}
	val, text := &p.of.values[v], s.Values[v]
	if val.of == sum {
		n, err := state.ParseNumber(text)
		if err != nil {
			return fmt.Errorf("value %s: %w", val.Name, err)
		}
		if sign < 0 {
			n = n.Neg()
		}
		r := p.in(s, p.shard)
		r.sums[v] = r.sums[v].Add(n)
		return nil
	}
	kind, _ := val.of.member()
	shard := p.shard
	if kind == Distinct { // equal values meet in one shard, so that those of the shards add up
		shard = p.of.shardOf(text)
	}
	r := p.in(s, shard)
	if shard != p.shard {
		r.shares += sign
	}
	r.members = append(r.members, Member{Name: val.Name, Kind: kind, Value: text, ID: p.memberID(since, ordinal), Remove: sign < 0})
	p.members++
	return nil
}

// memberID tells a share's members from those of other items and of its item's
// other shares; and, where an item may leave members behind when it expires, from
// those, by the version at which the item began to count.
func (p *poster) memberID(since pipeline.Version, ordinal int) string {
	if ordinal == 0 && !p.of.keep {
		return string(p.key)
	}
	b := append(make([]byte, 0, len(p.key)+56), p.key...)
	if p.of.keep {
		b = since.Append(append(b, '@'))
	}
	return string(strconv.AppendInt(append(b, '#'), int64(ordinal), 10))
}
