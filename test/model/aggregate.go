package model

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/sinks/sinktest"
)

// share is the contribution of one element to one group.
type share struct {
	group  sinktest.Item
	values []sinktest.Attr // as Aggregate.Values; nil: none
}

// shares returns the contributions of an item.
func (a *Aggregate) shares(key string, it sinktest.Item) ([]share, verdict) {
	if is := holds(a.When, it); is != found {
		return nil, is
	}
	elements := []sinktest.Attr{nil}
	if a.ForEach != nil {
		list := at(it, a.ForEach)
		if tag(list) == "" || tag(list) == "NULL" {
			return nil, missing
		}
		var ok bool
		if elements, ok = list["L"].([]sinktest.Attr); !ok {
			return nil, failed
		}
	}
	var all []share
	for _, e := range elements {
		one, is := a.share(scope{key: key, item: it, each: e})
		if is == failed {
			return nil, failed
		}
		if is == found {
			all = append(all, one)
		}
	}
	return all, found
}

func (a *Aggregate) share(s scope) (share, verdict) {
	group, is := s.rowKey(a.PK, a.SK)
	if is != found {
		return share{}, is
	}
	if a.Shards > 1 { // a key with a shard suffix is a text, so 1 and "1" are one group
		text, _ := plainText(group["PK"])
		group["PK"] = sinktest.Attr{"S": text}
	}
	one := share{group: group}
	for _, v := range a.Values {
		value, is := v.of(s)
		if is == failed {
			return one, failed
		}
		one.values = append(one.values, value)
	}
	return one, found
}

// of returns the value that a share contributes, or nil if it has none.
func (v Value) of(s scope) (sinktest.Attr, verdict) {
	if v.Of == "count" {
		return nil, missing
	}
	x := Part{Path: v.Path, Each: v.Each}.lookup(s)
	switch t := tag(x); {
	case t == "" || t == "NULL":
		return nil, missing
	case v.Of == "sum" && t != "N", !slices.Contains(kinds, t):
		return nil, failed
	}
	return x, found
}

// groups returns the rows of the aggregate. The contribution of an item is replaced by its next change. If Keep is
// set, the contribution of its last image stays when it expires.
func (a *Aggregate) groups(sink string, cs []change, count *Count) State {
	type contribution struct {
		version string
		shares  []share
		void    bool // the change could not be counted
	}
	s, known := newState(), map[string]contribution{}
	count.ByState = true
	var kept []share
	for _, c := range cs {
		image, expired := c.New, a.Keep && c.TTL
		if expired {
			image = c.Old
		}
		shares, is := a.shares(c.key, image)
		if is == failed { // the contribution of the item is removed
			s.requireLetter(sink, c, count)
			shares = nil
		}
		last, isKnown := known[c.key]
		if isKnown && c.version <= last.version {
			continue
		}
		was, before := a.shares(c.key, c.Old)
		hasCounted := len(last.shares) > 0 || last.void
		mayHaveCounted := before == failed || len(was) > 0 || c.mayReplace
		if !hasCounted && !mayHaveCounted && len(shares) == 0 {
			continue // it never counted, or the change by which it left is remembered, or is still to come
		}
		if expired {
			kept, shares = append(kept, shares...), nil
		}
		known[c.key] = contribution{c.version, shares, is == failed}
	}
	groups := map[string][]share{}
	add := func(shares []share) {
		for _, one := range shares {
			name := RowName(a.Table, one.group)
			groups[name] = append(groups[name], one)
		}
	}
	add(kept)
	for _, c := range known {
		add(c.shares)
	}
	for _, shares := range groups {
		s.put(a.Table, a.total(shares))
	}
	return s
}

// total returns the row of a group.
func (a *Aggregate) total(shares []share) sinktest.Item {
	row := sinktest.Item{"PK": shares[0].group["PK"], "SK": shares[0].group["SK"]}
	for i, v := range a.Values {
		var all []sinktest.Attr
		for _, one := range shares {
			if x := one.values[i]; x != nil {
				all = append(all, x)
			}
		}
		if v.Of == "count" {
			row[v.Name] = Total(big.NewRat(int64(len(shares)), 1))
		} else if value := v.total(all); value != nil {
			row[v.Name] = value
		}
	}
	return row
}

// total returns a value of a group, which is not a count, from the values of its shares. Without such values it returns
// nil, except for a sum.
func (v Value) total(all []sinktest.Attr) sinktest.Attr {
	switch {
	case v.Of == "sum":
		sum := new(big.Rat)
		for _, x := range all {
			sum.Add(sum, number(x))
		}
		return Total(sum)
	case len(all) == 0:
		return nil
	case v.Of == "min":
		return slices.MinFunc(all, compare)
	case v.Of == "max":
		return slices.MaxFunc(all, compare)
	}
	distinct := map[string]bool{}
	for _, x := range all {
		distinct[sinktest.Canonical(x)] = true
	}
	return Total(big.NewRat(int64(len(distinct)), 1))
}

// Total returns a sum as a row holds it: an N if it has at most 38 digits and is within the range of DynamoDB, else a
// text.
func Total(r *big.Rat) sinktest.Attr {
	text := decimal(r)
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if len(significant) <= 38 && len(whole) <= 126 && len(fraction) <= 130 {
		return sinktest.Attr{"N": text}
	}
	return sinktest.Attr{"S": text}
}

// Merge adds the rows of the shards of one table. Their partition key is a text that ends in ~0, ~1, ...
func (a *Aggregate) Merge(rows []sinktest.Item) ([]sinktest.Item, error) {
	if a.Shards < 2 {
		return rows, nil
	}
	var names []string
	merged := map[string]sinktest.Item{}
	for _, row := range rows {
		pk, ok := row["PK"]["S"].(string)
		i := strings.LastIndexByte(pk, '~')
		if !ok || i < 0 {
			return nil, fmt.Errorf("the row %s has no shard", sinktest.Canonical(row))
		}
		row["PK"] = sinktest.Attr{"S": pk[:i]}
		name := RowName(a.Table, row)
		sum, ok := merged[name]
		if !ok {
			names, merged[name] = append(names, name), row
			continue
		}
		for _, v := range a.Values {
			sum[v.Name] = v.merge(sum[v.Name], row[v.Name])
			if sum[v.Name] == nil {
				delete(sum, v.Name)
			}
		}
	}
	var out []sinktest.Item
	for _, name := range names {
		out = append(out, merged[name])
	}
	return out, nil
}

func (v Value) merge(a, b sinktest.Attr) sinktest.Attr {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case v.Of == "min" && compare(b, a) < 0, v.Of == "max" && compare(b, a) > 0:
		return b
	case v.Of == "min", v.Of == "max":
		return a
	}
	return Total(new(big.Rat).Add(rowNumber(a), rowNumber(b)))
}

// rowNumber returns a number that a row holds as N or as text.
func rowNumber(a sinktest.Attr) *big.Rat {
	text, _ := plainText(a)
	return rat(text)
}
