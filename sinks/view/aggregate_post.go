package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/state"
)

// poster posts to a tally what becomes of one item's shares.
type poster struct {
	*tally
	key     item.Key
	shard   int
	version record.Version
	from    []mention
	to      []mention
}

// mention is one value that a share puts among the members of its group.
type mention struct {
	group state.Row
	value int // of the aggregate's
	text  string
}

func (e mention) compare(f mention) int {
	return cmp.Or(cmp.Compare(e.group, f.group), e.value-f.value, cmp.Compare(e.text, f.text))
}

// post replaces the tally by the changes of one item, and leaves out rows that stay as they are.
func (p *poster) post(c *itemChanges) error {
	p.reset()
	p.key, p.shard, p.version = c.key, p.of.shardOf(string(c.key)), c.now.Version
	for _, s := range c.spans {
		if err := p.difference(s); err != nil {
			return fmt.Errorf("what item %s counts for: %w", c.key, err)
		}
	}
	p.prune()
	return nil
}

// difference posts the difference of one contribution change.
func (p *poster) difference(s contributionChange) error {
	from, to := s.from.Shares, s.to.Shares
	for i := range max(len(from), len(to)) {
		if i < len(from) && i < len(to) && from[i].Group == to[i].Group && slices.Equal(from[i].Values, to[i].Values) {
			continue
		}
		if i < len(from) {
			if err := p.share(&from[i], -1); err != nil {
				return err
			}
		}
		if i < len(to) {
			if err := p.share(&to[i], 1); err != nil {
				return err
			}
		}
	}
	p.from, p.to = p.mentions(p.from[:0], from), p.mentions(p.to[:0], to)
	p.members(s)
	return nil
}

// share posts a share that comes, or goes, but for its members.
func (p *poster) share(s *state.Share, sign int64) error {
	if len(s.Values) != len(p.of.values) {
		return errs.Errorf("it has %d values, and the aggregate %d", len(s.Values), len(p.of.values))
	}
	r := p.in(s.Group, p.shard)
	r.shares += sign
	r.entries += sign
	for v := range p.of.values {
		val := &p.of.values[v]
		if val.of != sum || s.Values[val.at] == "" {
			continue
		}
		n, err := state.ParseNumber(s.Values[val.at])
		if err != nil {
			return fmt.Errorf("value %s: %w", val.Name, err)
		}
		if sign < 0 {
			n = n.Neg()
		}
		r.sums[v] = r.sums[v].Add(n)
	}
	return nil
}

// mentions appends the members that shares make, each once, in their order.
func (p *poster) mentions(dst []mention, shares []state.Share) []mention {
	for i := range shares {
		for v := range p.of.values {
			text := shares[i].Values[p.of.values[v].at]
			if _, ok := p.of.values[v].of.member(); ok && text != "" {
				dst = append(dst, mention{shares[i].Group, v, text})
			}
		}
	}
	slices.SortFunc(dst, mention.compare)
	return slices.Compact(dst)
}

// members posts the mentions that come, and those that go. Those that an item left behind
// when it expired are others, even where they are equal.
func (p *poster) members(s contributionChange) {
	from, to := p.from, p.to
	anew := p.of.keep && s.from.Since != s.to.Since
	for len(from) > 0 || len(to) > 0 {
		order := -1
		if len(from) == 0 {
			order = 1
		} else if len(to) > 0 {
			order = from[0].compare(to[0])
		}
		if order <= 0 && (order < 0 || anew) {
			p.member(from[0], s.from.Since, true)
		}
		if order >= 0 && (order > 0 || anew) {
			p.member(to[0], s.to.Since, false)
		}
		if order <= 0 {
			from = from[1:]
		}
		if order >= 0 {
			to = to[1:]
		}
	}
}

func (p *poster) member(e mention, since record.Version, remove bool) {
	val := &p.of.values[e.value]
	kind, _ := val.of.member()
	shard := p.shard
	if kind == state.Distinct { // equal values meet in one shard, so that those of the shards add up
		shard = p.of.shardOf(e.text)
	}
	r := p.in(e.group, shard)
	if shard != p.shard {
		if r.shares++; remove {
			r.shares -= 2
		}
	}
	r.members = append(r.members, state.Member{Name: val.Name, Kind: kind, Value: e.text, ID: p.id(since), Remove: remove})
	p.tally.members++
}

// id tells an item's members from those of other items, and, where it may leave
// some behind when it expires, from those: by the version at which it began to count.
func (p *poster) id(since record.Version) string {
	if !p.of.keep {
		return string(p.key)
	}
	b := make([]byte, 0, len(p.key)+56)
	return string(since.Append(append(append(b, p.key...), '@')))
}

// in is the row of a group in a shard.
func (p *poster) in(group state.Row, shard int) *rowTally {
	r := p.row(p.of.shardRow(group, shard))
	if p.version.Compare(r.version) > 0 {
		r.version = p.version
	}
	return r
}
