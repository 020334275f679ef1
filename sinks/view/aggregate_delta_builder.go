package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// deltaBuilder builds the deltas of one item's changes. A delta is the change of one group row.
type deltaBuilder struct {
	*deltas
	key        item.Key
	shard      int // shard of the item
	version    record.Version
	oldMembers []memberValue // sorted member values of the item before the change
	newMembers []memberValue // sorted member values of the item after the change
}

// changeSign says whether a share or a member is added to a group or removed from it. It is also the number that is
// added to the row's number of shares.
type changeSign int64

const (
	added   changeSign = 1
	removed changeSign = -1
)

// memberValue is a value that a share adds to a min, max or distinct of its group.
type memberValue struct {
	group state.Row
	value int // index of Aggregate.values
	text  string
}

func (m memberValue) compare(o memberValue) int {
	return cmp.Or(cmp.Compare(m.group, o.group), m.value-o.value, cmp.Compare(m.text, o.text))
}

// build discards the former deltas, and builds the deltas of the item of c. A row that does not change has no delta.
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

// addDifference adds the difference between the contributions before and after a change to the deltas.
func (b *deltaBuilder) addDifference(change contributionChange) error {
	from, to := change.from.Shares, change.to.Shares
	for i := range max(len(from), len(to)) {
		inFrom, inTo := i < len(from), i < len(to)
		if inFrom && inTo && from[i].Equal(to[i]) {
			continue
		}
		if inFrom {
			if err := b.addShare(&from[i], removed); err != nil {
				return err
			}
		}
		if inTo {
			if err := b.addShare(&to[i], added); err != nil {
				return err
			}
		}
	}

	b.oldMembers = b.memberValues(b.oldMembers[:0], from)
	b.newMembers = b.memberValues(b.newMembers[:0], to)
	b.addMemberChanges(change)
	return nil
}

// addShare counts a share of the item as added or removed. It ignores the members of the share.
func (b *deltaBuilder) addShare(share *state.Share, sign changeSign) error {
	if len(share.Values) != len(b.aggregate.values) {
		return errs.Errorf("it has %d values, and the aggregate %d", len(share.Values), len(b.aggregate.values))
	}
	delta := b.groupDelta(share.Group, b.shard)
	delta.shares += int64(sign)
	delta.counted += int64(sign)
	for v := range b.aggregate.values {
		value := &b.aggregate.values[v]
		text := share.Values[value.shareIndex]
		if value.kind != sumKind || text == "" {
			continue
		}
		amount, err := state.ParseNumber(text)
		if err != nil {
			return fmt.Errorf("value %s: %w", value.Name, err)
		}
		if sign == removed {
			amount = amount.Neg()
		}
		delta.sums[v] = delta.sums[v].Add(amount)
	}
	return nil
}

// memberValues appends the member values of the shares to dst, sorted and without duplicates.
func (b *deltaBuilder) memberValues(dst []memberValue, shares []state.Share) []memberValue {
	for i := range shares {
		for v := range b.aggregate.values {
			value := &b.aggregate.values[v]
			text := shares[i].Values[value.shareIndex]
			if _, hasMembers := value.kind.memberKind(); hasMembers && text != "" {
				dst = append(dst, memberValue{shares[i].Group, v, text})
			}
		}
	}
	slices.SortFunc(dst, memberValue.compare)
	return slices.Compact(dst)
}

// addMemberChanges compares the sorted member values before and after a change. It removes the members whose values the
// item no longer has, and adds members for its new values. If the item expired between the two contributions and stays
// counted, the new members have other ids than the old ones. Then addMemberChanges also replaces members whose values
// are equal.
func (b *deltaBuilder) addMemberChanges(change contributionChange) {
	from, to := b.oldMembers, b.newMembers
	idsDiffer := b.aggregate.keepOnTTL && change.from.Since != change.to.Since
	for len(from) > 0 || len(to) > 0 {
		switch order := compareFirst(from, to); {
		case order < 0: // only in from
			b.addMember(from[0], change.from.Since, removed)
			from = from[1:]
		case order > 0: // only in to
			b.addMember(to[0], change.to.Since, added)
			to = to[1:]
		default:
			if idsDiffer {
				b.addMember(from[0], change.from.Since, removed)
				b.addMember(to[0], change.to.Since, added)
			}
			from, to = from[1:], to[1:]
		}
	}
}

// compareFirst compares the first values of two sorted lists. One of the lists may be empty. It returns a number below
// 0 if the value of from comes first, above 0 if the value of to comes first, and 0 if they are equal.
func compareFirst(from, to []memberValue) int {
	switch {
	case len(to) == 0:
		return -1
	case len(from) == 0:
		return 1
	default:
		return from[0].compare(to[0])
	}
}

// addMember counts a member of a group as added or removed.
func (b *deltaBuilder) addMember(m memberValue, since record.Version, sign changeSign) {
	value := &b.aggregate.values[m.value]
	kind, _ := value.kind.memberKind()
	shard := b.shard
	if kind == state.Distinct { // equal values are in one shard, so that readers can add up the distincts of all shards
		shard = item.Shard(m.text, b.aggregate.shards)
	}
	delta := b.groupDelta(m.group, shard)
	if shard != b.shard { // the member keeps the row of the other shard
		delta.shares += int64(sign)
	}
	delta.members = append(delta.members, state.Member{Name: value.Name, Kind: kind, Value: m.text, ID: b.memberID(since),
		Remove: sign == removed})
	b.memberCount++
}

// memberID returns the id of the item's members. Different items have different ids. If expired items stay counted, the
// id also contains the version with which the item began to count. So an item that is inserted again after its expiry
// has a new id.
func (b *deltaBuilder) memberID(since record.Version) string {
	if !b.aggregate.keepOnTTL {
		return string(b.key)
	}
	return string(b.key) + "@" + since.String()
}

// groupDelta returns the delta of a group's row in a shard. It raises the version of the delta to that of the item.
func (b *deltaBuilder) groupDelta(group state.Row, shard int) *rowDelta {
	d := b.deltaOf(b.aggregate.shardRow(group, shard))
	if b.version.Compare(d.version) > 0 {
		d.version = b.version
	}
	return d
}
