package view

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// deltas holds the changes of group rows that result from changes of contributions. A delta is the change of one row.
// No row has two deltas.
type deltas struct {
	aggregate   *Aggregate
	index       map[state.Row]int // index in rows
	rows        []rowDelta
	memberCount int // number of member changes of all rows
}

// rowDelta is the change of one row.
type rowDelta struct {
	row state.Row
	// shares is the change of the row's number of shares. If a member belongs to an item in another shard, the member
	// counts as a share too. When the row's number of shares reaches 0, the row is deleted.
	shares  int64
	counted int64          // change of the row's counts; it does not include members
	sums    []state.Number // change of each sum, by the index of the value; 0 for other values
	members []state.Member
	version record.Version
}

func (a *Aggregate) newDeltas() *deltas {
	return &deltas{aggregate: a, index: make(map[state.Row]int)}
}

func (d *deltas) reset() {
	clear(d.index)
	d.rows, d.memberCount = d.rows[:0], 0
}

// deltaOf returns the delta of a row. It adds a delta if there is none.
func (d *deltas) deltaOf(row state.Row) *rowDelta {
	if i, ok := d.index[row]; ok {
		return &d.rows[i]
	}
	last := len(d.rows)
	d.index[row] = last
	d.rows = slices.Grow(d.rows, 1)[:last+1]
	delta := &d.rows[last] // it may have slices of an earlier item, whose memory is used again
	sums := slices.Grow(delta.sums[:0], len(d.aggregate.values))[:len(d.aggregate.values)]
	clear(sums)
	*delta = rowDelta{row: row, sums: sums, members: delta.members[:0]}
	return delta
}

// merge adds the deltas of other.
func (d *deltas) merge(other *deltas) {
	for i := range other.rows {
		from := &other.rows[i]
		to := d.deltaOf(from.row)
		to.shares += from.shares
		to.counted += from.counted
		for v := range from.sums {
			to.sums[v] = to.sums[v].Add(from.sums[v])
		}
		to.members = append(to.members, from.members...)
		if from.version.Compare(to.version) > 0 {
			to.version = from.version
		}
	}
	d.memberCount += other.memberCount
}

// isEmpty reports whether the delta changes nothing.
func (r *rowDelta) isEmpty() bool {
	isNotZero := func(n state.Number) bool { return n.Sign() != 0 }
	return r.shares == 0 && r.counted == 0 && len(r.members) == 0 && !slices.ContainsFunc(r.sums, isNotZero)
}

// dropUnchanged removes the deltas that change nothing. After the call, the index is invalid.
func (d *deltas) dropUnchanged() {
	d.rows = slices.DeleteFunc(d.rows, func(r rowDelta) bool { return r.isEmpty() })
}

// groupChanges returns the deltas in the form that a store needs. Like dropUnchanged, it removes deltas that change
// nothing.
func (d *deltas) groupChanges() []state.GroupChange {
	d.dropUnchanged()
	changes := make([]state.GroupChange, len(d.rows))
	for i := range d.rows {
		r, c := &d.rows[i], &changes[i]
		*c = state.GroupChange{Row: r.row, Shares: r.shares, Members: r.members, Version: r.version}
		for v, value := range d.aggregate.values {
			switch value.kind {
			case countKind:
				c.Counts = append(c.Counts, state.Increment{Name: value.Name, Amount: state.NumberOf(decimal.Of(r.counted))})
			case sumKind:
				c.Sums = append(c.Sums, state.Increment{Name: value.Name, Amount: r.sums[v]})
			}
		}
	}
	return changes
}
