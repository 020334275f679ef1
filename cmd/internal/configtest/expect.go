package configtest

import (
	"cmp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/item"
)

// section is a part of `expect`.
type section string

// The sections, in the order in which they are written.
const (
	rows       section = "rows"       // of views, by sink or table
	aggregates section = "aggregates" // rows of aggregates, by sink; shards added up
	documents  section = "documents"  // by index or sink
	objects    section = "objects"    // of archives, by sink or bucket
	events     section = "events"     // by notify sink or detector
	drops      section = "drops"      // by filters
	letters    section = "letters"    // in dead letters
)

var sections = []section{rows, aggregates, documents, objects, events, drops, letters}

// byName reports whether a section has an entry for each sink.
func (s section) byName() bool { return s != drops && s != letters }

// typed reports whether the values of a section have DynamoDB types. Otherwise they are plain JSON.
func (s section) typed() bool { return s == rows || s == aggregates || s == objects || s == letters }

// shape describes the value of an entry.
func (s section) shape() string {
	switch s {
	case documents:
		return "a mapping of documents by their ids"
	case objects:
		return "a mapping of objects by their names, or of a log a list of changes"
	}
	return "a list"
}

// expectation is one entry of `expect`: the complete expected contents of a sink, table or index.
type expectation struct {
	section section
	name    string // "" for drops and letters
	want    value
	line    int
	at      *fileValue // for Update. With Alias other cases may share the value
	flow    bool       // the entry is within braces or brackets
}

func (x expectation) String() string {
	if x.name == "" {
		return string(x.section)
	}
	return string(x.section) + "." + x.name
}

// targets returns the names that are allowed in a section.
func targets(cfg *config.Config, s section) []string {
	var names []string
	for _, k := range cfg.Sinks {
		switch {
		case s == rows && k.View != nil:
			names = append(names, k.Name, k.View.Table.Name)
		case s == aggregates && k.Aggregate != nil:
			names = append(names, k.Name)
		case s == documents && k.Search != nil:
			names = append(names, k.Name, k.Search.Index.String())
		case s == objects && k.Archive != nil:
			names = append(names, k.Name, bucketOf(k))
		case s == events && k.Notify != nil:
			names = append(names, k.Name)
		}
	}
	if s == events {
		for _, d := range cfg.Detectors {
			names = append(names, d.Name)
		}
	}
	var unique []string
	for _, n := range names {
		if !slices.Contains(unique, n) {
			unique = append(unique, n)
		}
	}
	return unique
}

// bucketOf returns the bucket of an archive sink. A sink without one has its own name for it.
func bucketOf(s config.Sink) string { return cmp.Or(s.Archive.Bucket, s.Name) }

// expectations are the entries of a case's `expect`.
type expectations []expectation

// Bind reads the entries in the order of sections.
func (xs *expectations) Bind(f *yamlbind.File, v *fileValue) {
	names := make([]string, len(sections))
	for i, s := range sections {
		names[i] = string(s)
	}
	parts := make(map[string]*fileValue)
	for _, m := range known(f, v, names) {
		parts[m.Name] = m
	}
	flow := isFlow(v)
	for _, s := range sections {
		part := parts[string(s)]
		switch {
		case part == nil:
		case !s.byName():
			*xs = append(*xs, s.read(f, "", part, flow))
		case f.Enter(part):
			have := targets(contextOf(f).cfg, s)
			for _, m := range f.Members(part) {
				if slices.Contains(have, m.Name) {
					*xs = append(*xs, s.read(f, m.Name, m, flow || isFlow(part)))
				} else {
					f.FailKey(m, yamlbind.Hint(m.Name, have, "there are"), "the configuration has no such %s", s.target())
				}
			}
		}
	}
	f.FailIf(len(*xs) == 0 && len(f.Problems) == 0, v, "remove the key, and `tablewake test --update` writes what comes", "expects nothing")
}

func isFlow(v *fileValue) bool { return v.Node.Style&yaml.FlowStyle != 0 }

// known returns the members of a mapping, and adds a problem for each name that is not in names.
func known(f *yamlbind.File, v *fileValue, names []string) []*fileValue {
	return f.Known(f.Members(v), names, func(name string) string { return yamlbind.Hint(name, names, "the keys here are") })
}

// target describes the names of a section.
func (s section) target() string {
	return map[section]string{
		rows: "view sink or table", aggregates: "aggregate sink", documents: "search sink or index",
		objects: "archive sink or bucket", events: "notify sink or detector",
	}[s]
}

// read reads one entry and checks its form.
func (s section) read(f *yamlbind.File, name string, v *fileValue, flow bool) expectation {
	before := len(f.Problems)
	x := expectation{section: s, name: name, line: v.Key.Line, at: v, flow: flow, want: parseValue(f, v, s.typed())}
	if len(f.Problems) > before {
		return x
	}
	k := x.want.kind
	if k != item.KindL && (k != item.KindM || s != documents && s != objects) || k == item.KindL && s == documents {
		f.Fail(v, "none at all is written [] or {}", "wants %s, not %s", s.shape(), f.Found(v.Node))
		return x
	}
	for i, e := range children(f, v) {
		x.want.elems[i] = s.element(f, x.want.elems[i], e)
	}
	return x
}

// children returns the elements of a list or the members of a mapping.
func children(f *yamlbind.File, v *fileValue) []*fileValue {
	if v.Node.Kind == yaml.SequenceNode {
		return f.Elements(v)
	}
	return f.Members(v)
}

// fields are the allowed keys of an element. The elements of other sections have the user's attributes.
var fields = map[section][]string{
	objects: {"op", "ttl", "table", "keys", "old", "new"},
	events:  {"detector", "op", "table", "keys", "path", "old", "new", "attributes"},
	drops:   {"reason", "sink", "count"},
	letters: {"class", "sink", "keys", "error"},
}

// element checks one element, and adds the default count of a drop.
func (s section) element(f *yamlbind.File, v value, at *fileValue) value {
	f.Enter(at)
	if v.kind == item.KindL && s == objects { // an archive object with several changes
		for i, e := range f.Elements(at) {
			v.elems[i] = s.element(f, v.elems[i], e)
		}
		return v
	}
	if v.kind != item.KindM {
		f.Fail(at, "", "wants a mapping, not %s", f.Found(at.Node))
		return v
	}
	if fields[s] != nil {
		known(f, at, fields[s])
	}
	key := map[section]string{drops: "reason", letters: "class"}[s]
	f.FailIf(key != "" && v.get(key).kind == item.Absent, at, "", "the key %q is missing", key)
	if s == drops && v.get("count").kind == item.Absent {
		v = v.with("count", count(1))
	}
	return v
}
