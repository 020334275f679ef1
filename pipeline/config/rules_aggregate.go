package config

import (
	"github.com/tablewake/tablewake/pipeline"
)

// aggregateRules checks what an aggregate counts, and by what.
func (c *checker) aggregateRules(cfg *Config, i int, v *value) {
	a := cfg.Sinks[i].Aggregate
	c.rowRules(cfg, i, v, v.get("values").all())
	if a.ForEach == "" {
		c.noElements(v)
	}
	for j, of := range a.Values {
		if values := v.get("values").all(); len(values) == len(a.Values) {
			c.valueKind(cfg, of, values[j])
		}
	}
	if a.Shards > 1 && len(a.Group) > 0 {
		c.shardKey(cfg, a, v)
	}
}

// noElements refuses {each} and each.path where there is no list.
func (c *checker) noElements(v *value) {
	const message = "there are no elements without for_each"
	const hint = `add for_each: PATH of the list; an attribute named each is written ["each"]`
	for _, col := range v.get("group").all() {
		if t := templateOf(col); t != nil && len(t.EachPaths()) > 0 {
			c.fail(col, hint, "{%s}: %s", t.EachPaths()[0], message)
		}
	}
	for _, e := range v.get("values").all() {
		for _, way := range e.all() {
			if _, each := cutEach(way.source); each {
				c.fail(way, hint, "%s: %s", way.source, message)
			}
		}
	}
}

// valueKind refuses what cannot be made of an attribute by its declared type.
func (c *checker) valueKind(cfg *Config, of AggregateValue, v *value) {
	p, err := pipeline.ParsePath(of.Path)
	if of.Each || err != nil || p.Root() != of.Path && `["`+p.Root()+`"]` != of.Path {
		return // an element, or inside an attribute: nothing is declared of it
	}
	kind, declared := cfg.Attributes[p.Root()]
	switch {
	case !declared:
	case of.Of == "sum" && kind != pipeline.KindN:
		c.fail(v, "sum an N, or count what there is", "a sum is of numbers, and %s is declared %s", of.Path, kind)
	case kind != pipeline.KindN && kind != pipeline.KindS && kind != pipeline.KindB && kind != pipeline.KindBOOL:
		c.fail(v, "name a scalar", "a %s is of S, N, B or BOOL, and %s is declared %s", of.Of, of.Path, kind)
	}
}

// shardKey refuses a partition key that is no text by its declared type: the
// number of the shard goes behind it.
func (c *checker) shardKey(cfg *Config, a *Aggregate, v *value) {
	t := a.Group[0].Template
	paths := t.Paths()
	if len(paths) != 1 || t.String() != "{"+paths[0]+"}" {
		return
	}
	p, err := pipeline.ParsePath(paths[0])
	if err != nil {
		return
	}
	if kind, declared := cfg.Attributes[p.Root()]; declared && paths[0] == p.Root() && kind != pipeline.KindS {
		c.fail(v.get("group").entries[0], "put it into a text, as in '"+p.Root()+"#{"+paths[0]+"}', or write shards: 1", "shards put ~0, ~1, ... behind the partition key, and %s is declared %s", paths[0], kind)
	}
}
