package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
)

// Filter is one entry of `filters`.
type Filter struct {
	Name   string          // name by which its drops are counted
	Line   int             // line of the entry in the file
	Filter pipeline.Filter // the filter; a [*GoFilter] if it is Go code

	_      any            `one:"drop,keep,func"`
	_      namedCondition `key:"drop" doc:"Drops what meets the condition."`
	_      namedCondition `key:"keep" doc:"Drops what does not meet the condition."`
	_      string         `key:"func" is:"name" doc:"Drops what a Go function does not keep. A program gives it to Assemble."`
	action *value         // drop, keep or func
}

// dropsTTLDeletes reports whether the filter drops all TTL deletes and nothing else. It is the only filter reading more
// than keys that is allowed before a state sink (a sink that keeps state).
func (f Filter) dropsTTLDeletes() bool {
	return f.action.Name == "drop" && f.action.Text() == "ttl_deletes"
}

// DropsTTLDeletes reports whether sink s receives no TTL deletes, because a filter of the file or of the sink drops
// them.
func (cfg *Config) DropsTTLDeletes(s Sink) bool {
	return slices.ContainsFunc(cfg.Filters, Filter.dropsTTLDeletes) ||
		slices.ContainsFunc(s.Filters, Filter.dropsTTLDeletes)
}

// namedCondition is the condition of a filter, with the filter's name.
type namedCondition struct {
	_ any       `ref:"named_condition"`
	_ string    `key:"name" is:"name" doc:"What drops are counted by."`
	_ condition `key:"+"`
}

// condition is a word, or a mapping with one key.
type condition struct {
	_ any                 `ref:"condition" one:"op,of,key_prefix,entity,changed,unchanged,expr,any,all,not"`
	_ string              `key:"=" words:"ttl_deletes,probable_ttl,replication_echoes,no_change"`
	_ []string            `key:"op" words:"INSERT,MODIFY,REMOVE,SNAPSHOT,UNKNOWN" doc:"The operation is one of these."`
	_ []string            `key:"of,single" is:"entity" doc:"The item belongs to one of these entities."`
	_ map[string]string   `key:"key_prefix" form:"{PK: TEXT}" doc:"A key attribute starts with the text."`
	_ map[string][]string `key:"entity" form:"{ATTRIBUTE: [TEXT]}" doc:"An attribute of the new image, else the old, is one of these texts."`
	_ []item.Pattern      `key:"changed" doc:"Something at one of the paths differs between old and new image."`
	_ []item.Pattern      `key:"unchanged" doc:"Nothing at any of the paths differs between old and new image."`
	_ *expr.Change        `key:"expr" doc:"CEL over old, new, op, keys, time and ttl."`
	_ []condition         `key:"any" doc:"One of the conditions is met."`
	_ []condition         `key:"all" doc:"Each of the conditions is met."`
	_ *condition          `key:"not" doc:"The condition is not met."`
}

// filters returns the filters of a list. A filter without a name gets a name that describes its condition, such as
// ttl_deletes, drop_changed or keep_op.
func (c *checker) filters(v *value) []Filter {
	var fs []Filter
	names := make(map[string]int)
	for _, entry := range v.All() {
		if len(entry.Entries) != 1 {
			continue // the binding has reported it
		}
		action := entry.Entries[0] // drop, keep or func
		var cond pipeline.Condition
		isSound := action.Text() != ""
		if action.Name != "func" {
			cond = c.condition(action)
			isSound = cond != nil
		}
		if !isSound {
			continue
		}
		f := Filter{Name: c.nameFilter(action, names), Line: entry.Node.Line, action: action}
		switch action.Name {
		case "keep":
			f.Filter = rules.Keep(f.Name, cond)
		case "drop":
			f.Filter = rules.Drop(f.Name, cond)
		case "func":
			f.Filter = &GoFilter{Func: action.Text(), name: f.Name, problem: c.Problem(action, "", "")}
		}
		fs = append(fs, f)
	}
	return fs
}

// nameFilter returns the name of a filter, and counts it in names. A default name that is taken gets a number.
func (c *checker) nameFilter(action *value, names map[string]int) string {
	given := action.Get("name")
	name := cmp.Or(given.Text(), defaultFilterName(action))
	n := names[name]
	names[name]++
	if n > 0 && given.Text() != "" {
		c.Fail(given, "drops are counted by it: give each filter its own",
			"the name %q is taken by an earlier filter", name)
	} else if n > 0 {
		name = fmt.Sprintf("%s_%d", name, n+1)
		names[name]++
	}
	return name
}

func defaultFilterName(action *value) string {
	word := action.Text()
	switch {
	case word == "":
		return action.Name + "_" + conditionKey(action).Name
	case action.Name != "keep":
		return word
	}
	return "keep_" + word
}

// conditionKey returns the key that defines a condition, such as op, any or expr. It skips the key name. It returns nil
// if the condition is a single word.
func conditionKey(v *value) *value {
	for _, e := range v.All() {
		if e.Name != "name" {
			return e
		}
	}
	return nil
}

// condition returns the condition that v, a word or a mapping, describes. It returns nil if a problem was reported.
func (c *checker) condition(v *value) pipeline.Condition {
	ttl, f := c.cfg.Source.TTLAttribute, conditionKey(v)
	switch word := v.Text(); {
	case word == "probable_ttl" && ttl == "":
		c.Fail(v, "add ttl_attribute to source",
			"probable_ttl guesses by the table's TTL attribute, which the file does not name")
		return nil
	case f == nil:
		return map[string]pipeline.Condition{
			"ttl_deletes": rules.TTLDeletes(), "probable_ttl": rules.ProbableTTL(ttl),
			"replication_echoes": rules.ReplicationEchoes(), "no_change": rules.NoChange(),
		}[word]
	}
	switch f.Name {
	case "op":
		return rules.Operations(operationsOf(f)...)
	case "of":
		if len(f.Entries) > 0 {
			return rules.OfEntities(c.entitySet().Scope(f.Texts()...))
		}
	case "key_prefix":
		return allOf(f, func(e *value) pipeline.Condition { return rules.KeyPrefix(e.Name, e.Text()) })
	case "entity":
		return allOf(f, func(e *value) pipeline.Condition { return rules.Entity(e.Name, e.Texts()...) })
	case "changed":
		return rules.Changed(yamlbind.Valid[item.Pattern](f)...)
	case "unchanged":
		return rules.Unchanged(yamlbind.Valid[item.Pattern](f)...)
	case "expr":
		if x := yamlbind.As[*expr.Change](f); x != nil {
			return x
		}
	case "any":
		return rules.Any(c.conditions(f)...)
	case "all":
		return rules.All(c.conditions(f)...)
	case "not":
		if part := c.condition(f); part != nil {
			return rules.Not(part)
		}
	}
	return nil
}

// operationsOf returns the operations that a list names.
func operationsOf(v *value) (ops []record.Operation) {
	for op := record.Unknown; op <= record.Snapshot; op++ {
		if v.Holds(op.String()) {
			ops = append(ops, op)
		}
	}
	return ops
}

func (c *checker) conditions(v *value) []pipeline.Condition {
	cs := make([]pipeline.Condition, 0, len(v.Entries))
	for _, e := range v.Entries {
		if part := c.condition(e); part != nil {
			cs = append(cs, part)
		}
	}
	return cs
}

// allOf returns a condition that is met if entryCondition is met for each entry of a map.
func allOf(v *value, entryCondition func(*value) pipeline.Condition) pipeline.Condition {
	cs := make([]pipeline.Condition, len(v.Entries))
	for i, e := range v.Entries {
		cs[i] = entryCondition(e)
	}
	if len(cs) == 1 {
		return cs[0]
	}
	return rules.All(cs...)
}

// Detector is one entry of `detect`.
type Detector struct {
	_        any                `ref:"detector" one:"op,attribute,changed,appeared,disappeared,added,removed,func" add:"add one, as attribute: PATH for from, to, below or above"`
	_        any                `most:"below,above"`
	Name     string             `key:"*" is:"name"`
	Line     int                `key:"@"`
	Detector pipeline.Detector  // includes Of and when; nil if Func is set
	When     pipeline.Condition // Of and when of a Func detector; else nil
	// Of is empty if the detector applies to all items.
	Of []string `key:"of,single" is:"entity" doc:"Only changes of items of these entities."`

	_    []string        `key:"op" words:"INSERT,MODIFY,REMOVE" doc:"The operation is one of these."`
	_    item.Path       `key:"attribute" doc:"A value that changes: any way, from, to, or across a threshold."`
	_    string          `key:"from" is:"scalar" def:"'*'" doc:"Value before; '*' for any."`
	_    string          `key:"to" is:"scalar" def:"'*'" doc:"Value after; '*' for any. Required beside from."`
	_    decimal.Decimal `key:"below" doc:"The number crossed this downwards."`
	_    decimal.Decimal `key:"above" doc:"The number crossed this upwards."`
	_    []item.Pattern  `key:"changed" doc:"Something at one of the paths changed."`
	_    item.Path       `key:"appeared" doc:"The path exists now and did not before."`
	_    item.Path       `key:"disappeared" doc:"The path existed before and does not now."`
	_    item.Path       `key:"added" doc:"A set has a new member."`
	_    item.Path       `key:"removed" doc:"A set has lost a member."`
	Func string          `key:"func" is:"name" doc:"A Go function given to Assemble."`
	_    *expr.Change    `key:"when" doc:"Only of changes that meet this: CEL over old, new, op, keys, time and ttl."`

	paths []string // patterns of the paths whose values the events contain
}

// Made is called after the keys are read. It sets Detector and When.
func (d *Detector) Made(f *yamlbind.File, v *value) {
	for _, k := range []string{"attribute", "appeared", "disappeared", "added", "removed"} {
		if p := v.Get(k).Written(); p != "" {
			d.paths = append(d.paths, p)
		}
	}
	for _, e := range v.Get("changed").All() {
		d.paths = append(d.paths, e.Source)
	}
	c := yamlbind.Context[*checker](f)
	d.Detector = c.detector(v)
	var conditions []pipeline.Condition
	if scope := c.scopeAt(v.Field); scope != nil {
		conditions = append(conditions, rules.OfEntities(scope))
	}
	if when := yamlbind.As[*expr.Change](v.Get("when")); when != nil {
		conditions = append(conditions, when)
	}
	switch {
	case len(conditions) == 0:
	case d.Detector == nil:
		d.When = rules.All(conditions...)
	default:
		d.Detector = rules.When(rules.All(conditions...), d.Detector)
	}
}

// detectorKinds are the keys of a detector that define the detected change, except attribute.
var detectorKinds = []string{"op", "changed", "appeared", "disappeared", "added", "removed", "func"}

func (c *checker) detector(v *value) pipeline.Detector {
	kinds := slices.DeleteFunc(texts(v.Entries, func(e *value) string { return e.Name }), func(name string) bool {
		return !slices.Contains(detectorKinds, name)
	})
	for _, k := range []string{"from", "to", "below", "above"} {
		// A detector without any of detectorKinds was reported when its keys were read.
		if e := v.Get(k); e != nil && v.Get("attribute") == nil && len(kinds) > 0 {
			c.Fail(e, "add attribute: PATH", "%q speaks of an attribute, and none is named", k)
		}
	}
	path := func(k string) item.Path { return yamlbind.As[item.Path](v.Get(k)) }
	switch {
	case v.Get("changed") != nil:
		return rules.PathChanged(yamlbind.Valid[item.Pattern](v.Get("changed"))...)
	case v.Get("appeared") != nil:
		return rules.Appeared(path("appeared"))
	case v.Get("disappeared") != nil:
		return rules.Disappeared(path("disappeared"))
	case v.Get("added") != nil:
		return rules.MemberAdded(path("added"))
	case v.Get("removed") != nil:
		return rules.MemberRemoved(path("removed"))
	case v.Get("op") != nil:
		return rules.OperationIs(operationsOf(v.Get("op"))...)
	case v.Get("attribute") != nil:
		return c.attributeDetector(v)
	}
	return nil
}

// attributeDetector returns the detector for `attribute`: of any change, of a transition (from, to) or of a threshold.
// It returns nil if a problem was reported.
func (c *checker) attributeDetector(v *value) pipeline.Detector {
	path := yamlbind.As[item.Path](v.Get("attribute"))
	from, to, below, above := v.Get("from"), v.Get("to"), v.Get("below"), v.Get("above")
	switch {
	case (from != nil || to != nil) && (below != nil || above != nil):
		c.Fail(v, "make two detectors of it", "a transition (from, to) and a threshold (below, above) cannot stand together")
	case below != nil:
		return rules.CrossedBelow(path, yamlbind.As[decimal.Decimal](below))
	case above != nil:
		return rules.CrossedAbove(path, yamlbind.As[decimal.Decimal](above))
	case from == nil && to == nil:
		return rules.Transition(path, "*", "*")
	case to == nil:
		c.Fail(from, "add to: VALUE, or to: '*' for whatever it becomes", "a transition says what the value becomes")
	default:
		return rules.Transition(path, from.Text(), to.Text())
	}
	return nil
}
