package view

import (
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// GroupsOf returns what the contribution of an item adds to the rows of its groups: each row once, with its shard, and
// what a new row would hold if no other item counted in it. It makes no call, and may be called concurrently. The error
// names the item: the contribution does not fit the aggregate's values.
func (a *Aggregate) GroupsOf(source item.Key, c state.Contribution) ([]state.GroupChange, error) {
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

// IsRowOf reports whether a row is one of a group, in any shard.
func (a *Aggregate) IsRowOf(group, row state.Row) bool {
	for shard := range a.shards {
		if a.shardRow(group, shard) == row {
			return true
		}
	}
	return false
}
