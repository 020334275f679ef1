package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// deltaBuilder builds the deltas of one item's changes.
type deltaBuilder struct {
	*deltas
	key        item.Key
	shard      int // shard of the item
	version    record.Version
	oldMembers []memberValue // sorted member values of the item before the change
	newMembers []memberValue // sorted member values of the item after the change
}

// memberValue is a value that a share adds to a min, max or distinct of its group.
type memberValue struct {
	group state.Row
	value int // index of Aggregate.values
	text  string
}

func (m memberValue) compare(o memberValue) int {
	return cmp.Or(cmp.Compare(m.group, o.group), m.value-o.value, cmp.Compare(m.text, o.text))
}

// build replaces the deltas by those of one item. A row that does not change has no delta.
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

// addDifference adds the difference between the contributions of one change.
func (b *deltaBuilder) addDifference(change contributionChange) error {
	from, to := change.from.Shares, change.to.Shares
	for i := range max(len(from), len(to)) {
		inFrom, inTo := i < len(from), i < len(to)
		if inFrom && inTo && from[i].Group == to[i].Group && slices.Equal(from[i].Values, to[i].Values) {
			continue
		}
		if inFrom {
			if err := b.addShare(&from[i], -1); err != nil {
				return err
			}
		}
		if inTo {
			if err := b.addShare(&to[i], 1); err != nil {
				return err
			}
		}
	}
	b.oldMembers, b.newMembers = b.memberValues(b.oldMembers[:0], from), b.memberValues(b.newMembers[:0], to)
	b.addMemberChanges(change)
	return nil
}

// addShare adds a share if sign is 1, and removes it if sign is -1. It ignores the members of the share.
func (b *deltaBuilder) addShare(share *state.Share, sign int64) error {
	if len(share.Values) != len(b.aggregate.values) {
		return errs.Errorf("it has %d values, and the aggregate %d", len(share.Values), len(b.aggregate.values))
	}
	delta := b.delta(share.Group, b.shard)
	delta.shares += sign
	delta.counted += sign
	for v := range b.aggregate.values {
		value := &b.aggregate.values[v]
		if value.kind != sumKind || share.Values[value.shareIndex] == "" {
			continue
		}
		n, err := state.ParseNumber(share.Values[value.shareIndex])
		if err != nil {
			return fmt.Errorf("value %s: %w", value.Name, err)
		}
		if sign < 0 {
			n = n.Neg()
		}
		delta.sums[v] = delta.sums[v].Add(n)
	}
	return nil
}

// memberValues appends the member values of the shares to dst, sorted and without duplicates.
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

// addMemberChanges compares the sorted member values from and to. It removes the members that are only in from, and
// adds those that are only in to. If the item expired between the two contributions and stays counted, the new members
// have other ids. Then addMemberChanges also replaces members with equal values.
func (b *deltaBuilder) addMemberChanges(change contributionChange) {
	from, to := b.oldMembers, b.newMembers
	expiredBetween := b.aggregate.keepOnTTL && change.from.Since != change.to.Since
	for len(from) > 0 || len(to) > 0 {
		order := -1
		if len(from) == 0 {
			order = 1
		} else if len(to) > 0 {
			order = from[0].compare(to[0])
		}
		onlyFrom, onlyTo := order < 0, order > 0
		if onlyFrom || !onlyTo && expiredBetween {
			b.addMember(from[0], change.from.Since, true)
		}
		if onlyTo || !onlyFrom && expiredBetween {
			b.addMember(to[0], change.to.Since, false)
		}
		if !onlyTo {
			from = from[1:]
		}
		if !onlyFrom {
			to = to[1:]
		}
	}
}

// addMember adds a member to its group, or removes it.
func (b *deltaBuilder) addMember(m memberValue, since record.Version, remove bool) {
	value := &b.aggregate.values[m.value]
	kind, _ := value.kind.memberKind()
	shard := b.shard
	if kind == state.Distinct { // equal values are in one shard, so that readers can add up the distincts of all shards
		shard = item.Shard(m.text, b.aggregate.shards)
	}
	delta := b.delta(m.group, shard)
	if shard != b.shard {
		if delta.shares++; remove {
			delta.shares -= 2
		}
	}
	delta.members = append(delta.members, state.Member{Name: value.Name, Kind: kind, Value: m.text, ID: b.memberID(since),
		Remove: remove})
	b.memberCount++
}

// memberID returns an id for the item's members, which differs from those of other items. If expired items stay
// counted, the id also contains the version with which the item began to count. So it differs from the id that the item
// had before it expired.
func (b *deltaBuilder) memberID(since record.Version) string {
	if !b.aggregate.keepOnTTL {
		return string(b.key)
	}
	id := make([]byte, 0, len(b.key)+56)
	return string(since.Append(append(append(id, b.key...), '@')))
}

// delta returns the delta of a group's row in a shard. It raises the version of the delta to that of the item.
func (b *deltaBuilder) delta(group state.Row, shard int) *rowDelta {
	d := b.deltaOf(b.aggregate.shardRow(group, shard))
	if b.version.Compare(d.version) > 0 {
		d.version = b.version
	}
	return d
}
