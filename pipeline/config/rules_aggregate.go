package config

import "github.com/tablewake/tablewake/pipeline/item"

// aggregateRules checks what an aggregate counts, and by what.
func (c *checker) aggregateRules(s *Sink) {
	a := s.Aggregate
	c.liveIf(c.cfg.State == nil, a, "add state: {table: NAME}",
		"what it remembers of items is in the state table, and the file names none")
	c.rowRules(s)
	if a.ForEach == "" {
		c.noElements(a)
	}
	if values := c.Of(&a.Values).All(); len(values) == len(a.Values) {
		for i, of := range a.Values {
			c.valueKind(of, values[i])
		}
	}
	if a.Shards > 1 && len(a.Group) > 0 {
		c.shardKey(a)
	}
}

// noElements refuses {each} and each.path where there is no list.
func (c *checker) noElements(a *Aggregate) {
	const message = "there are no elements without for_each"
	const hint = `add for_each: PATH of the list; an attribute named each is written ["each"]`
	for _, col := range c.Of(&a.Group).All() {
		if t := templateOf(col); t != nil && len(t.EachPaths()) > 0 {
			c.Fail(col, hint, "{%s}: %s", t.EachPaths()[0], message)
		}
	}
	for _, e := range c.Of(&a.Values).All() {
		for _, way := range e.All() {
			if _, each := cutEach(way.Source); each {
				c.Fail(way, hint, "%s: %s", way.Source, message)
			}
		}
	}
}

// valueKind refuses what cannot be made of an attribute by its declared type.
func (c *checker) valueKind(of AggregateValue, v *value) {
	p, err := item.ParsePath(of.Path)
	if of.Each || err != nil || p.Root() != of.Path && `["`+p.Root()+`"]` != of.Path {
		return // an element, or inside an attribute: nothing is declared of it
	}
	kind, declared := c.cfg.Attributes[p.Root()]
	switch {
	case !declared:
	case of.Of == "sum" && kind != item.KindN:
		c.Fail(v, "sum an N, or count what there is", "a sum is of numbers, and %s is declared %s", of.Path, kind)
	case kind != item.KindN && kind != item.KindS && kind != item.KindB && kind != item.KindBOOL:
		c.Fail(v, "name a scalar", "a %s is of S, N, B or BOOL, and %s is declared %s", of.Of, of.Path, kind)
	}
}

// shardKey refuses a partition key that is no text by its declared type: the
// number of the shard goes behind it.
func (c *checker) shardKey(a *Aggregate) {
	paths := a.Group[0].Template.Paths()
	if len(paths) != 1 || a.Group[0].Template.String() != "{"+paths[0]+"}" {
		return
	}
	path := paths[0]
	p, err := item.ParsePath(path)
	if err != nil || p.Root() != path {
		return
	}
	if kind, declared := c.cfg.Attributes[path]; declared && kind != item.KindS {
		c.Fail(c.Of(&a.Group).Entries[0], "put it into a text, as in '"+path+"#{"+path+"}', or write shards: 1", "shards put ~0, ~1, ... behind the partition key, and %s is declared %s", path, kind)
	}
}
