package model

import (
	"fmt"
	"strings"
)

// Config is a configuration as Go data.
type Config struct {
	Name      string
	Entities  []Entity
	Filters   []Filter
	Detectors []Detector
	Sinks     []Sink
}

// Sink is one sink. Exactly one of View, Aggregate, Search, Archive and Notify is set.
type Sink struct {
	Name        string
	Of          *Scope // nil: every item
	Filters     []Filter
	Concurrency int // 0: not set
	Batch       int // 0: not set
	View        *View
	Aggregate   *Aggregate
	Search      *Search
	Archive     *Archive
	Notify      *Notify
}

// Filter drops or keeps records.
type Filter struct {
	TTLDeletes bool   // drop: ttl_deletes
	Of         *Scope // keep: {of: NAMES}
	Attribute  string // keep: {key_prefix: {Attribute: Prefix}}
	Prefix     string
}

// Detector raises at most one event for a change.
type Detector struct {
	Name      string
	Of        *Scope // nil: every item
	Attribute string
	Op        string // operation of the change; "": see Changes
	Changes   bool   // any change of the attribute; else see To
	To        string // the attribute becomes this text; "": see Appears
	Appears   bool   // true: the attribute appears; false: it disappears
}

// Column is a named template.
type Column struct {
	Name  string
	Value Template
}

// View keeps rows with the key attributes PK and SK.
type View struct {
	Table      string
	When       *Condition
	PK, SK     Template
	Shards     int // of {@shard} in PK; 0: not set
	Attributes []Column
	Collision  string // dead_letter, keep_first, last; "": not set
	InPlace    bool
	Unique     bool       // the key has the unique names of the one entity that the view is about
	ForEach    *ForEach   // nil: an item has one row
	WhenEach   *Condition // the condition of an element, in addition to When
}

// Aggregate counts in groups with the key attributes PK and SK.
type Aggregate struct {
	Table   string
	When    *Condition
	PK, SK  Template
	ForEach []string // path of a list; nil: the item itself counts
	Values  []Value
	Shards  int // 0: not set
	Keep    bool
}

// Value is one value of an aggregate.
type Value struct {
	Name string
	Of   string // count, sum, min, max, distinct
	Path []string
	Each bool
}

// Search keeps documents with all attributes.
type Search struct {
	Index    string
	When     *Condition
	ForEach  *ForEach   // nil: an item has one document
	WhenEach *Condition // the condition of an element, in addition to When
}

// Archive keeps changes.
type Archive struct {
	Bucket  string
	Kinds   []string // nil: all
	PerItem Template // nil: the log
	When    *Condition
	Image   string // old or new: the image that When reads
}

// Notify publishes the events of detectors.
type Notify struct{ Events []string }

// YAML returns the configuration as a file.
func (c Config) YAML() string {
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	w("version: 1\nname: %s\nsource: {table: shop}", c.Name)
	writeEntities(w, c.Entities)
	writeFilters(w, "", c.Filters)
	if len(c.Detectors) > 0 {
		w("detect:")
	}
	for _, d := range c.Detectors {
		switch {
		case d.Op != "":
			w("  %s: {%sop: [%s]}", d.Name, d.Of.ofYAML(), d.Op)
		case d.Changes:
			w("  %s: {%sattribute: %s}", d.Name, d.Of.ofYAML(), d.Attribute)
		case d.To != "":
			w("  %s: {%sattribute: %s, to: %s}", d.Name, d.Of.ofYAML(), d.Attribute, quote(d.To))
		case d.Appears:
			w("  %s: {%sappeared: %s}", d.Name, d.Of.ofYAML(), d.Attribute)
		default:
			w("  %s: {%sdisappeared: %s}", d.Name, d.Of.ofYAML(), d.Attribute)
		}
	}
	w("sinks:")
	for _, s := range c.Sinks {
		w("  %s:", s.Name)
		s.write(w)
		writeOf(w, s.Of)
		writeFilters(w, "      ", s.Filters)
		if s.Concurrency > 0 {
			w("      concurrency: %d", s.Concurrency)
		}
		if s.Batch > 0 {
			w("      batch: {count: %d}", s.Batch)
		}
	}
	w("dead_letters: {bucket: dead, prefix: x/}")
	return b.String()
}

func (s Sink) write(w func(string, ...any)) {
	switch {
	case s.View != nil:
		s.View.write(w)
	case s.Aggregate != nil:
		a := s.Aggregate
		w("    aggregate:\n      table: %s", a.Table)
		writeWhen(w, a.When, "item")
		if len(a.ForEach) > 0 {
			w("      for_each: %s", strings.Join(a.ForEach, "."))
		}
		writeKey(w, "group", a.PK, a.SK)
		w("      values:")
		for _, v := range a.Values {
			w("        %s: %s", v.Name, v.yaml())
		}
		if a.Shards > 0 {
			w("      shards: %d", a.Shards)
		}
		w("      on_ttl_delete: %s", map[bool]string{true: "keep", false: "retract"}[a.Keep])
	case s.Search != nil:
		w("    search:\n      index: %s", s.Search.Index)
		writeForEach(w, s.Search.ForEach)
		writeWhenEach(w, s.Search.When, s.Search.WhenEach)
	case s.Archive != nil:
		a := s.Archive
		w("    archive:\n      bucket: %s", a.Bucket)
		if a.Kinds != nil {
			w("      kinds: [%s]", strings.Join(a.Kinds, ", "))
		}
		if a.PerItem != nil {
			w("      layout: per_item\n      key: %s", quote(a.PerItem.String()))
		}
		writeWhen(w, a.When, a.Image)
	case s.Notify != nil:
		w("    notify:\n      events: [%s]", strings.Join(s.Notify.Events, ", "))
	}
}

func (v *View) write(w func(string, ...any)) {
	w("    view:\n      table: %s", v.Table)
	writeWhenEach(w, v.When, v.WhenEach)
	writeForEach(w, v.ForEach)
	writeKey(w, "key", v.PK, v.SK)
	if v.Shards > 0 {
		w("      shards: %d", v.Shards)
	}
	if len(v.Attributes) > 0 {
		w("      attributes:")
	}
	for _, a := range v.Attributes {
		w("        %s: %s", a.Name, quote(a.Value.String()))
	}
	if v.Collision != "" {
		w("      on_collision: %s", v.Collision)
	}
	if v.InPlace {
		w("      tombstones: in_place")
	}
}

// given formats a value, unless it is zero.
func given[T comparable](format string, value T) string {
	var zero T
	if value == zero {
		return ""
	}
	return fmt.Sprintf(format, value)
}

// writeWhenEach writes the condition of the item and that of its elements as one.
func writeWhenEach(w func(string, ...any), when, whenEach *Condition) {
	switch {
	case whenEach == nil:
		writeWhen(w, when, "item")
	case when == nil:
		writeWhen(w, whenEach, "each")
	default:
		w("      when: %s", quote("("+when.CEL("item")+") && ("+whenEach.CEL("each")+")"))
	}
}

func writeForEach(w func(string, ...any), f *ForEach) {
	if f != nil {
		w("      for_each: {path: %s%s%s}", f.Path, given(", by: %s", f.By), given(", max: %d", f.Max))
	}
}

func (v Value) yaml() string {
	if v.Of == "count" {
		return v.Of
	}
	path := strings.Join(v.Path, ".")
	if v.Each {
		path = "each." + path
	}
	return fmt.Sprintf("{%s: %s}", v.Of, path)
}

func writeKey(w func(string, ...any), name string, pk, sk Template) {
	w("      %s: {PK: %s, SK: %s}", name, quote(pk.String()), quote(sk.String()))
}

func writeWhen(w func(string, ...any), c *Condition, image string) {
	if c != nil {
		w("      when: %s", quote(c.CEL(image)))
	}
}

func writeFilters(w func(string, ...any), indent string, fs []Filter) {
	if len(fs) > 0 {
		w("%sfilters:", indent)
	}
	for _, f := range fs {
		switch {
		case f.TTLDeletes:
			w("%s  - drop: ttl_deletes", indent)
		case f.Of != nil:
			w("%s  - keep: {of: %s}", indent, f.Of.yaml())
		default:
			w("%s  - keep: {key_prefix: {%s: %s}}", indent, f.Attribute, quote(f.Prefix))
		}
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
