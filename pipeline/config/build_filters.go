package config

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/expr"
)

// buildFilters makes filters of the entries of a list. A filter without a name
// is counted by its condition: ttl_deletes, drop_changed, keep_op.
func (c *checker) buildFilters(v *value, src Source) []Filter {
	var fs []Filter
	names := make(map[string]int)
	for _, entry := range v.all() {
		if len(entry.all()) != 1 {
			continue // said by the walk
		}
		verb := entry.entries[0] // drop or keep
		cond := c.condition(verb, src)
		if cond == nil {
			continue
		}
		f := Filter{Name: verb.get("name").text(), Line: entry.line(), verb: verb}
		if f.Name != "" && names[f.Name] > 0 {
			c.fail(verb.get("name"), "drops are counted by it: give each filter its own", "the name %q is taken by an earlier filter", f.Name)
		}
		if f.Name == "" {
			f.Name = defaultName(verb)
			if n := names[f.Name]; n > 0 {
				names[f.Name]++
				f.Name = fmt.Sprintf("%s_%d", f.Name, n+1)
			}
		}
		names[f.Name]++
		if verb.name == "drop" {
			f.Filter = pipeline.Drop(f.Name, cond)
		} else {
			f.Filter = pipeline.Keep(f.Name, cond)
		}
		fs = append(fs, f)
	}
	return fs
}

func defaultName(verb *value) string {
	if w := verb.text(); w != "" {
		if verb.name == "drop" {
			return w
		}
		return "keep_" + w
	}
	return verb.name + "_" + form(verb).name
}

// form is the key of a condition that says what it is: op, any, expr, ...
func form(v *value) *value {
	for _, e := range v.all() {
		if e.name != "name" {
			return e
		}
	}
	return nil
}

// condition makes the condition of a word or a mapping; nil where the walk has
// said what is wrong.
func (c *checker) condition(v *value, src Source) pipeline.Condition {
	switch v.text() {
	case "ttl_deletes":
		return pipeline.TTLDeletes()
	case "probable_ttl":
		if src.TTLAttribute == "" {
			c.fail(v, "add ttl_attribute to source", "probable_ttl guesses by the table's TTL attribute, which the file does not name")
			return nil
		}
		return pipeline.ProbableTTL(src.TTLAttribute)
	case "replication_echoes":
		return pipeline.ReplicationEchoes()
	case "no_change":
		return pipeline.NoChange()
	}
	f := form(v)
	if f == nil {
		return nil
	}
	switch f.name {
	case "op":
		return pipeline.Operations(operations(f.texts())...)
	case "key_prefix":
		return both(f, func(e *value) pipeline.Condition { return pipeline.KeyPrefix(e.name, e.text()) })
	case "entity":
		return both(f, func(e *value) pipeline.Condition { return pipeline.Entity(e.name, e.texts()...) })
	case "changed":
		return pipeline.Changed(patterns(f)...)
	case "unchanged":
		return pipeline.Unchanged(patterns(f)...)
	case "expr":
		if x := as[*expr.Change](f); x != nil {
			return x
		}
		return nil
	case "any":
		return pipeline.Any(c.conditions(f, src)...)
	case "all":
		return pipeline.All(c.conditions(f, src)...)
	default: // not
		if part := c.condition(f, src); part != nil {
			return pipeline.Not(part)
		}
		return nil
	}
}

func (c *checker) conditions(v *value, src Source) []pipeline.Condition {
	cs := make([]pipeline.Condition, 0, len(v.all()))
	for _, e := range v.all() {
		if part := c.condition(e, src); part != nil {
			cs = append(cs, part)
		}
	}
	return cs
}

// both is one condition for each entry of a map, all of which hold.
func both(v *value, one func(*value) pipeline.Condition) pipeline.Condition {
	cs := make([]pipeline.Condition, 0, len(v.all()))
	for _, e := range v.all() {
		cs = append(cs, one(e))
	}
	if len(cs) == 1 {
		return cs[0]
	}
	return pipeline.All(cs...)
}

func operations(names []string) []pipeline.Operation {
	byName := map[string]pipeline.Operation{
		"INSERT": pipeline.Insert, "MODIFY": pipeline.Modify, "REMOVE": pipeline.Remove,
		"SNAPSHOT": pipeline.Snapshot, "UNKNOWN": pipeline.Unknown,
	}
	var ops []pipeline.Operation
	for _, n := range names {
		if op, ok := byName[n]; ok {
			ops = append(ops, op)
		}
	}
	return ops
}

func patterns(v *value) []pipeline.Pattern {
	var ps []pipeline.Pattern
	for _, e := range v.all() {
		if p := as[pipeline.Pattern](e); !p.IsZero() {
			ps = append(ps, p)
		}
	}
	return ps
}
