package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// deltaBuilder makes the deltas of one item's changes.
type deltaBuilder struct {
	*deltas
	key     item.Key
	shard   int // of the item
	version record.Version
	from    []memberValue // members before and after the change, sorted
	to      []memberValue
}

// memberValue is a value that a share adds to the members of its group, for a min, max or distinct.
type memberValue struct {
	group state.Row
	value int // index of Aggregate.values
	text  string
}

func (m memberValue) compare(o memberValue) int {
	return cmp.Or(cmp.Compare(m.group, o.group), m.value-o.value, cmp.Compare(m.text, o.text))
}

// build replaces the deltas by those of one item. Rows that stay as they are have none.
func (b *deltaBuilder) build(c *itemChanges) error {
	b.reset()
	b.key, b.shard, b.version = c.key, item.Shard(string(c.key), b.aggregate.shards), c.next.Version
	for _, change := range c.changes {
		if err := b.addDifference(change); err != nil {
			return fmt.Errorf("what item %s counts for: %w", c.key, err)
		}
	}
	b.dropUnchanged()
	return nil
}

// addDifference adds the difference of one contribution change.
func (b *deltaBuilder) addDifference(change contributionChange) error {
	from, to := change.from.Shares, change.to.Shares
	for i := range max(len(from), len(to)) {
		if i < len(from) && i < len(to) && from[i].Group == to[i].Group && slices.Equal(from[i].Values, to[i].Values) {
			continue
		}
		if i < len(from) {
			if err := b.addShare(&from[i], -1); err != nil {
				return err
			}
		}
		if i < len(to) {
			if err := b.addShare(&to[i], 1); err != nil {
				return err
			}
		}
	}
	b.from, b.to = b.memberValues(b.from[:0], from), b.memberValues(b.to[:0], to)
	b.addMemberChanges(change)
	return nil
}

// addShare adds a share (sign 1) or removes it (sign -1), without its members.
func (b *deltaBuilder) addShare(s *state.Share, sign int64) error {
	if len(s.Values) != len(b.aggregate.values) {
		return errs.Errorf("it has %d values, and the aggregate %d", len(s.Values), len(b.aggregate.values))
	}
	r := b.delta(s.Group, b.shard)
	r.shares += sign
	r.counted += sign
	for v := range b.aggregate.values {
		value := &b.aggregate.values[v]
		if value.kind != sumKind || s.Values[value.shareIndex] == "" {
			continue
		}
		n, err := state.ParseNumber(s.Values[value.shareIndex])
		if err != nil {
			return fmt.Errorf("value %s: %w", value.Name, err)
		}
		if sign < 0 {
			n = n.Neg()
		}
		r.sums[v] = r.sums[v].Add(n)
	}
	return nil
}

// memberValues appends the different member values of the shares, sorted.
func (b *deltaBuilder) memberValues(dst []memberValue, shares []state.Share) []memberValue {
	for i := range shares {
		for v := range b.aggregate.values {
			text := shares[i].Values[b.aggregate.values[v].shareIndex]
			if _, ok := b.aggregate.values[v].kind.memberKind(); ok && text != "" {
				dst = append(dst, memberValue{shares[i].Group, v, text})
			}
		}
	}
	slices.SortFunc(dst, memberValue.compare)
	return slices.Compact(dst)
}

// addMemberChanges merges the sorted member values from and to: it removes those that are only in from, and adds
// those that are only in to. If the item expired in between and its count is kept, the members have other ids, and
// equal ones are replaced, too.
func (b *deltaBuilder) addMemberChanges(change contributionChange) {
	from, to := b.from, b.to
	restarted := b.aggregate.keepOnTTL && change.from.Since != change.to.Since
	for len(from) > 0 || len(to) > 0 {
		order := -1
		if len(from) == 0 {
			order = 1
		} else if len(to) > 0 {
			order = from[0].compare(to[0])
		}
		if order <= 0 && (order < 0 || restarted) {
			b.addMember(from[0], change.from.Since, true)
		}
		if order >= 0 && (order > 0 || restarted) {
			b.addMember(to[0], change.to.Since, false)
		}
		if order <= 0 {
			from = from[1:]
		}
		if order >= 0 {
			to = to[1:]
		}
	}
}

// addMember adds a member to its group, or removes it.
func (b *deltaBuilder) addMember(m memberValue, since record.Version, remove bool) {
	value := &b.aggregate.values[m.value]
	kind, _ := value.kind.memberKind()
	shard := b.shard
	if kind == state.Distinct { // equal values are in one shard, so that the counts of the shards can be added up
		shard = item.Shard(m.text, b.aggregate.shards)
	}
	r := b.delta(m.group, shard)
	if shard != b.shard {
		if r.shares++; remove {
			r.shares -= 2
		}
	}
	r.members = append(r.members, state.Member{Name: value.Name, Kind: kind, Value: m.text, ID: b.memberID(since), Remove: remove})
	b.memberCount++
}

// memberID distinguishes an item's members from those of other items. If expired items stay counted, it also
// distinguishes them from the members that the item had before it expired, by the version at which it began to
// count.
func (b *deltaBuilder) memberID(since record.Version) string {
	if !b.aggregate.keepOnTTL {
		return string(b.key)
	}
	id := make([]byte, 0, len(b.key)+56)
	return string(since.Append(append(append(id, b.key...), '@')))
}

// delta returns the delta of a group's row in a shard.
func (b *deltaBuilder) delta(group state.Row, shard int) *rowDelta {
	r := b.row(b.aggregate.shardRow(group, shard))
	if b.version.Compare(r.version) > 0 {
		r.version = b.version
	}
	return r
}
