package view

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/record"
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
	members []state.Member
	version record.Version
}

func (a *Aggregate) tally() *tally {
	return &tally{of: a, index: make(map[state.Row]int)}
}

func (t *tally) reset() {
	clear(t.index)
	t.rows, t.members = t.rows[:0], 0
}

// row is the tally of a row, a new one if it was not touched before.
func (t *tally) row(row state.Row) *rowTally {
	i, ok := t.index[row]
	if !ok {
		i = len(t.rows)
		t.index[row] = i
		t.rows = slices.Grow(t.rows, 1)[:i+1]
		r := &t.rows[i] // it may have memory of an earlier item
		sums := slices.Grow(r.sums[:0], len(t.of.values))[:len(t.of.values)]
		clear(sums)
		*r = rowTally{row: row, sums: sums, members: r.members[:0]}
	}
	return &t.rows[i]
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

// idle tells whether the row stays as it is.
func (r *rowTally) idle() bool {
	return r.shares == 0 && r.entries == 0 && len(r.members) == 0 &&
		!slices.ContainsFunc(r.sums, func(n state.Number) bool { return n.Sign() != 0 })
}

// prune forgets rows that stay as they are. Of a tally that is pruned rows are read alone.
func (t *tally) prune() {
	t.rows = slices.DeleteFunc(t.rows, func(r rowTally) bool { return r.idle() })
}

// changes are the tally as a store takes it.
func (t *tally) changes() []state.GroupChange {
	t.prune()
	cs := make([]state.GroupChange, len(t.rows))
	for i := range t.rows {
		r := &t.rows[i]
		c := &cs[i]
		*c = state.GroupChange{Row: r.row, Shares: r.shares, Members: r.members, Version: r.version}
		for v, val := range t.of.values {
			switch val.of {
			case count:
				c.Counts = append(c.Counts, state.Increment{Name: val.Name, Amount: state.NumberOf(decimal.Of(r.entries))})
			case sum:
				c.Sums = append(c.Sums, state.Increment{Name: val.Name, Amount: r.sums[v]})
			}
		}
	}
	return cs
}
