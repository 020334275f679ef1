package view

import (
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// GroupChanges returns the changes of group rows that add the contribution c of an item. Each row appears once, with
// its shard. If no other item counts in a row, the row has exactly the values of its change. GroupChanges does no I/O,
// and may be called concurrently. If the contribution does not fit the aggregate's values, GroupChanges returns an
// error that names the item.
func (a *Aggregate) GroupChanges(source item.Key, c state.Contribution) ([]state.GroupChange, error) {
	b := deltaBuilder{deltas: a.newDeltas()}
	if err := b.build(&itemChanges{key: source, next: c, changes: []contributionChange{{to: c}}}); err != nil {
		return nil, err
	}
	return b.groupChanges(), nil
}

// Values returns the aggregate's values, in the order of the configuration.
func (a *Aggregate) Values() []Value {
	vs := make([]Value, len(a.values))
	for i := range a.values {
		vs[i] = a.values[i].Value
	}
	return vs
}

// IsRowOf reports whether row is the row of group in any shard.
func (a *Aggregate) IsRowOf(group, row state.Row) bool {
	for shard := range a.shards {
		if a.shardRow(group, shard) == row {
			return true
		}
	}
	return false
}
