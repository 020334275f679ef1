package config

import (
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

// dropsTTLDeletes reports whether the filter drops all TTL deletes and nothing else. Only such a filter can be before a
// state sink (a sink that keeps state) although it reads more than keys.
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
	var filters []Filter
	taken := make(map[string]bool)
	for _, entry := range v.All() {
		if len(entry.Entries) != 1 {
			continue // yamlbind has reported it
		}
		action := entry.Entries[0] // drop, keep or func
		if filter, name := c.filter(action, taken); filter != nil {
			filters = append(filters, Filter{Line: entry.Node.Line, action: action, Name: name, Filter: filter})
		}
	}
	return filters
}

// filter returns the filter of a drop, keep or func, and its name, which it adds to taken. It returns nil if a problem
// was reported.
func (c *checker) filter(action *value, taken map[string]bool) (filter pipeline.Filter, name string) {
	if action.Name == "func" {
		if action.Text() == "" {
			return nil, ""
		}
		name = c.filterName(action, taken)
		return &GoFilter{Func: action.Text(), name: name, problem: c.Problem(action, "", "")}, name
	}
	condition := c.condition(action)
	if condition == nil {
		return nil, ""
	}
	name = c.filterName(action, taken)
	if action.Name == "keep" {
		return rules.Keep(name, condition), name
	}
	return rules.Drop(name, condition), name
}

// filterName returns the name of a filter, and adds it to taken. If a default name is taken, filterName appends a
// number.
func (c *checker) filterName(action *value, taken map[string]bool) string {
	name := action.Get("name").Text()
	if name != "" {
		c.FailIf(taken[name], action.Get("name"), "drops are counted by it: give each filter its own",
			"the name %q is taken by an earlier filter", name)
	} else {
		name = defaultFilterName(action)
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", defaultFilterName(action), n)
		}
	}
	taken[name] = true
	return name
}

// defaultFilterName returns a name that describes a filter, such as ttl_deletes, drop_changed or keep_op.
func defaultFilterName(action *value) string {
	word := action.Text()
	switch {
	case word == "":
		return action.Name + "_" + conditionKey(action).Name
	case action.Name == "keep":
		return "keep_" + word
	}
	return word
}

// conditionKey returns the key that defines a condition, such as op, any or expr. It skips the key `name`. It returns
// nil if the condition is a single word.
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
	key := conditionKey(v)
	if key == nil {
		return c.conditionNamed(v)
	}
	switch key.Name {
	case "op":
		return rules.Operations(operationsOf(key)...)
	case "of":
		if len(key.Entries) > 0 {
			return rules.OfEntities(c.entitySet().Scope(key.Texts()...))
		}
	case "key_prefix":
		return allOf(key, func(e *value) pipeline.Condition { return rules.KeyPrefix(e.Name, e.Text()) })
	case "entity":
		return allOf(key, func(e *value) pipeline.Condition { return rules.Entity(e.Name, e.Texts()...) })
	case "changed":
		return rules.Changed(yamlbind.Valid[item.Pattern](key)...)
	case "unchanged":
		return rules.Unchanged(yamlbind.Valid[item.Pattern](key)...)
	case "expr":
		if x := yamlbind.As[*expr.Change](key); x != nil {
			return x
		}
	case "any":
		return rules.Any(c.conditions(key)...)
	case "all":
		return rules.All(c.conditions(key)...)
	case "not":
		if part := c.condition(key); part != nil {
			return rules.Not(part)
		}
	}
	return nil
}

// conditionNamed returns the condition that is written as a word. It returns nil if a problem was reported.
func (c *checker) conditionNamed(word *value) pipeline.Condition {
	switch word.Text() {
	case "ttl_deletes":
		return rules.TTLDeletes()
	case "replication_echoes":
		return rules.ReplicationEchoes()
	case "no_change":
		return rules.NoChange()
	case "probable_ttl":
		if ttl := c.cfg.Source.TTLAttribute; ttl != "" {
			return rules.ProbableTTL(ttl)
		}
		c.Fail(word, "add ttl_attribute to source",
			"probable_ttl guesses by the table's TTL attribute, which the file does not name")
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
	sound := make([]pipeline.Condition, 0, len(v.Entries))
	for _, e := range v.Entries {
		if part := c.condition(e); part != nil {
			sound = append(sound, part)
		}
	}
	return sound
}

// allOf returns a condition that is met if entryCondition(e) is met for each entry e of a map.
func allOf(v *value, entryCondition func(*value) pipeline.Condition) pipeline.Condition {
	parts := make([]pipeline.Condition, len(v.Entries))
	for i, e := range v.Entries {
		parts[i] = entryCondition(e)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return rules.All(parts...)
}

// Detector is one entry of `detect`.
type Detector struct {
	_        any                `ref:"detector" one:"op,attribute,changed,appeared,disappeared,added,removed,func" add:"add one, as attribute: PATH for from, to, below or above"`
	_        any                `most:"below,above"`
	Name     string             `key:"*" is:"name"`
	Line     int                `key:"@"`
	Detector pipeline.Detector  // includes `of` and `when`; nil if Func is set
	When     pipeline.Condition // `of` and `when` of a Func detector; else nil
	// Entities is empty if the detector applies to all items.
	Entities []string `key:"of,single" is:"entity" doc:"Only changes of items of these entities."`

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
	for _, key := range []string{"attribute", "appeared", "disappeared", "added", "removed"} {
		if path := v.Get(key).Written(); path != "" {
			d.paths = append(d.paths, path)
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

// detector returns the detector of the change that v defines. It returns nil for a Go function, and if a problem was
// reported.
func (c *checker) detector(v *value) pipeline.Detector {
	hasKind := slices.ContainsFunc(v.Entries, func(e *value) bool { return slices.Contains(detectorKinds, e.Name) })
	if hasKind && v.Get("attribute") == nil { // a detector without a kind was reported when its keys were read
		for _, key := range []string{"from", "to", "below", "above"} {
			c.Refuse(v.Get(key), "add attribute: PATH", "%q speaks of an attribute, and none is named", key)
		}
	}
	path := func(key string) item.Path { return yamlbind.As[item.Path](v.Get(key)) }
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
	isTransition, isThreshold := from != nil || to != nil, below != nil || above != nil
	switch {
	case isTransition && isThreshold:
		c.Fail(v, "make two detectors of it", "a transition (from, to) and a threshold (below, above) cannot be combined")
	case below != nil:
		return rules.CrossedBelow(path, yamlbind.As[decimal.Decimal](below))
	case above != nil:
		return rules.CrossedAbove(path, yamlbind.As[decimal.Decimal](above))
	case !isTransition:
		return rules.Transition(path, "*", "*")
	case to == nil:
		c.Fail(from, "add to: VALUE, or to: '*' for whatever it becomes", "a transition says what the value becomes")
	default:
		return rules.Transition(path, from.Text(), to.Text())
	}
	return nil
}
