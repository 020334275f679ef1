package config

import (
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
)

// checkAggregate checks the values, the group and the shards of an aggregate.
func (c *checker) checkAggregate(s *Sink) {
	a := s.Aggregate
	if c.cfg.State == nil {
		c.reportMissingState(s, a, "add state: {table: NAME}",
			"what it remembers of items is in the state table, and the file names none")
	}
	c.checkRows(s)
	if a.ForEach == "" {
		c.refuseElements(a)
	}
	if values := c.ValueOf(&a.Values).All(); len(values) == len(a.Values) {
		for i, av := range a.Values {
			c.checkValueKind(c.scopeOf(s), av, values[i])
		}
	}
	if a.Shards > 1 && len(a.Group) > 0 {
		c.checkShardKey(a)
	}
}

// refuseElements refuses {each} and each.path in an aggregate without for_each.
func (c *checker) refuseElements(a *Aggregate) {
	const message = "there are no elements without for_each"
	const hint = `add for_each: PATH of the list; an attribute named each is written ["each"]`
	for _, col := range c.ValueOf(&a.Group).All() {
		if t := templateOf(col); t != nil && len(t.EachPaths()) > 0 {
			c.Fail(col, hint, "{%s}: %s", t.EachPaths()[0], message)
		}
	}
	for _, e := range c.ValueOf(&a.Values).All() {
		for _, operand := range e.All() {
			if _, hasEach := cutEachPrefix(operand.Source); hasEach {
				c.Fail(operand, hint, "%s: %s", operand.Source, message)
			}
		}
	}
}

// checkValueKind refuses a value of an aggregate that cannot be computed from the declared type of its attribute, such
// as the sum of an S.
func (c *checker) checkValueKind(sc *entity.Scope, av AggregateValue, v *value) {
	attribute, isTopLevel := topLevelAttribute(av.Path)
	if av.Each || !isTopLevel {
		return // only top-level attributes have a declared type
	}
	kind := c.declaredKind(sc, attribute)
	isScalar := kind == item.KindN || kind == item.KindS || kind == item.KindB || kind == item.KindBOOL
	switch {
	case kind == item.Absent:
	case av.Kind == "sum" && kind != item.KindN:
		c.Fail(v, "sum an N, or count what there is", "a sum is of numbers, and %s is declared %s", av.Path, kind)
	case !isScalar:
		c.Fail(v, "name a scalar", "a %s is of S, N, B or BOOL, and %s is declared %s", av.Kind, av.Path, kind)
	}
}

// topLevelAttribute returns the name of the attribute if the path is NAME or ["NAME"].
func topLevelAttribute(path string) (name string, ok bool) {
	p, err := item.ParsePath(path)
	if err != nil {
		return "", false
	}
	name = p.Root()
	return name, path == name || path == `["`+name+`"]`
}

// checkShardKey refuses a partition key whose declared type is not S, because the number of the shard is appended to
// the key as text.
func (c *checker) checkShardKey(a *Aggregate) {
	partitionKey := a.Group[0].Template
	paths := partitionKey.Paths()
	if isOnePath := len(paths) == 1 && partitionKey.String() == "{"+paths[0]+"}"; !isOnePath {
		return
	}
	path := paths[0]
	p, err := item.ParsePath(path)
	if err != nil || p.Root() != path {
		return
	}
	kind, isDeclared := c.cfg.Attributes[path]
	c.FailIf(isDeclared && kind != item.KindS, c.ValueOf(&a.Group).Entries[0],
		"put it into a text, as in '"+path+"#{"+path+"}', or write shards: 1",
		"shards append ~0, ~1, ... to the partition key, and %s is declared %s", path, kind)
}
