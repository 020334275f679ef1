package configtest

import (
	"cmp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// section is a part of `expect`, such as rows.
type section struct {
	name     string
	target   string   // what the entries are named after; "": the section is one entry without a name
	notation notation // of the values
	ordered  bool     // the order of the elements counts
	shape    shape    // form of an entry
	fields   []string // the allowed keys of an element; nil: any keys, because they are the user's attributes
	required string   // the key that an element must have
	identity []string // the keys that identify an element
}

// shape is a form of an entry.
type shape struct {
	name  string
	kinds []yaml.Kind
	empty string // how an entry without contents is written
}

var (
	aList         = shape{"a list", []yaml.Kind{yaml.SequenceNode}, "[]"}
	documentsByID = shape{"a mapping of documents by their ids", []yaml.Kind{yaml.MappingNode}, "{}"}
	objectsOrLog  = shape{"a mapping of objects by their names, or of a log a list of changes",
		[]yaml.Kind{yaml.SequenceNode, yaml.MappingNode}, "[] or {}"}
)

// The sections. letters are the dead letters, the stored changes that could not be written.
var (
	rows       = &section{name: "rows", target: "view sink or table", notation: marked, shape: aList}
	aggregates = &section{name: "aggregates", target: "aggregate sink", notation: marked, shape: aList} // shards added up
	documents  = &section{name: "documents", target: "search sink or index", shape: documentsByID}
	objects    = &section{name: "objects", target: "archive sink or bucket", notation: marked, ordered: true,
		shape: objectsOrLog, fields: []string{"op", "ttl", "table", "keys", "old", "new"}}
	events = &section{name: "events", target: "notify sink or detector", ordered: true, shape: aList,
		fields: []string{"detector", "op", "table", "keys", "path", "old", "new", "attributes"}}
	drops = &section{name: "drops", shape: aList,
		fields: []string{"reason", "sink", "count"}, required: "reason", identity: []string{"sink", "reason"}}
	letters = &section{name: "letters", notation: marked, shape: aList,
		fields: []string{"class", "sink", "keys", "error"}, required: "class", identity: []string{"sink", "keys"}}
)

// sections has the sections in the order in which Update writes them.
var sections = []*section{rows, aggregates, documents, objects, events, drops, letters}

// expectation is one entry of `expect`: the complete expected contents of a sink, table or index.
type expectation struct {
	section  *section
	name     string // "" for drops and letters
	contents entries
	line     int
	at       *fileValue // the value in the file, for Update; other cases may share it if it is an Alias
	flow     bool       // the entry is within braces or brackets
}

// isMet reports whether got are the expected contents.
func (x expectation) isMet(got entries) bool { return len(compare(x, got, nil)) == 0 }

func (x expectation) String() string {
	if x.name == "" {
		return x.section.name
	}
	return x.section.name + "." + x.name
}

// placeOf returns the section of a sink's output, and its place: the table, index or bucket that the sink may share
// with others. The place is "" for an aggregate and a notify sink, which are expected by their names alone. If an
// archive sink names no bucket, the place is the name of the sink. For a sink without comparable output, such as a Go
// sink, the section is nil.
func placeOf(k config.Sink) (*section, string) {
	switch {
	case k.View != nil:
		return rows, k.View.Table.Name
	case k.Aggregate != nil:
		return aggregates, ""
	case k.Search != nil:
		return documents, k.Search.Index.String()
	case k.Archive != nil:
		return objects, cmp.Or(k.Archive.Bucket, k.Name)
	case k.Notify != nil:
		return events, ""
	}
	return nil, ""
}

// writers returns the sinks that write the contents of an expectation called name: the sink called name, or else all
// sinks that write to the place called name.
func (s *section) writers(cfg *config.Config, name string) (found []config.Sink) {
	for _, k := range cfg.Sinks {
		section, place := placeOf(k)
		switch {
		case section != s:
		case k.Name == name:
			return []config.Sink{k}
		case place == name:
			found = append(found, k)
		}
	}
	return found
}

// targets returns the names that are allowed in a section.
func (s *section) targets(cfg *config.Config) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, k := range cfg.Sinks {
		section, place := placeOf(k)
		if section != s {
			continue
		}
		add(k.Name)
		add(place)
	}
	if s == events {
		for _, d := range cfg.Detectors {
			add(d.Name)
		}
	}
	return names
}

// allExpectations returns an expectation for each output that the sinks can write. The expectations have no value and
// no position in a file.
func allExpectations(cfg *config.Config) (xs []expectation) {
	for _, s := range sections {
		if s.target == "" {
			xs = append(xs, expectation{section: s})
		}
		for _, k := range cfg.Sinks {
			if section, _ := placeOf(k); section == s {
				xs = append(xs, expectation{section: s, name: k.Name})
			}
		}
	}
	return xs
}

// expectations are the entries of a case's `expect`.
type expectations []expectation

// Bind reads the entries in the order of the variable sections.
func (xs *expectations) Bind(f *yamlbind.File, v *fileValue) {
	var names []string
	for _, s := range sections {
		names = append(names, s.name)
	}
	v.Entries = knownMembers(f, v, names)
	flow := isFlow(v)
	for _, s := range sections {
		part := v.Get(s.name)
		if part == nil {
			continue
		}
		if s.target == "" {
			*xs = append(*xs, s.read(f, "", part, flow))
		} else if f.FollowAlias(part) {
			*xs = append(*xs, s.readTargets(f, part, flow || isFlow(part))...)
		}
	}
	f.FailIf(len(*xs) == 0 && len(f.Problems) == 0, v, "remove the key, and `tablewake test --update` writes what comes",
		"expects nothing")
}

// readTargets reads the entries of a section by their targets, such as the names of sinks.
func (s *section) readTargets(f *yamlbind.File, v *fileValue, flow bool) (xs []expectation) {
	targets := s.targets(contextOf(f).cfg)
	for _, m := range f.Members(v) {
		if !slices.Contains(targets, m.Name) {
			f.FailKey(m, yamlbind.Hint(m.Name, targets, "there are"), "the configuration has no such %s", s.target)
			continue
		}
		xs = append(xs, s.read(f, m.Name, m, flow))
	}
	return xs
}

func isFlow(v *fileValue) bool { return v.Node.Style&yaml.FlowStyle != 0 }

// knownMembers returns the members of a mapping, and adds a problem for each name that is not in names.
func knownMembers(f *yamlbind.File, v *fileValue, names []string) []*fileValue {
	return f.Known(f.Members(v), names, func(name string) string {
		return yamlbind.Hint(name, names, "the keys here are")
	})
}

// read reads one entry and checks its form.
func (s *section) read(f *yamlbind.File, name string, v *fileValue, flow bool) expectation {
	x := expectation{section: s, name: name, line: v.Key.Line, at: v, flow: flow}
	if !f.FollowAlias(v) {
		return x
	}
	if !slices.Contains(s.shape.kinds, v.Node.Kind) {
		f.Fail(v, "none at all is written "+s.shape.empty, "wants %s, not %s", s.shape.name, f.Describe(v.Node))
		return x
	}
	x.contents = parseEntries(f, v, s.element)
	return x
}

// element reads one element and checks it.
func (s *section) element(f *yamlbind.File, at *fileValue) item.Value {
	if !f.FollowAlias(at) {
		return item.Value{}
	}
	if s == objects && at.Node.Kind == yaml.SequenceNode { // an object with several changes
		return parseEntries(f, at, s.element).value()
	}
	problemsBefore := len(f.Problems)
	v := s.notation.parseFollowed(f, at)
	if len(f.Problems) > problemsBefore {
		return v
	}
	if v.Kind() != item.KindM {
		f.Fail(at, "", "wants a mapping, not %s", f.Describe(at.Node))
		return v
	}
	if s.fields != nil {
		knownMembers(f, at, s.fields)
	}
	if s.required != "" {
		_, found := v.Get(s.required)
		f.FailIf(!found, at, "", "the key %q is missing", s.required)
	}
	if s == drops {
		return withCount(v)
	}
	return v
}

// withCount returns a drop with the default count if it has none.
func withCount(drop item.Value) item.Value {
	if _, hasCount := drop.Get("count"); hasCount {
		return drop
	}
	es := entriesOf(drop)
	es.add("count", item.NumberValue(decimal.Of(1)))
	return es.value()
}
