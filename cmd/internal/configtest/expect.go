package configtest

import (
	"cmp"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
)

// section is a part of what is expected.
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

// byName tells whether a section has an entry for each sink.
func (s section) byName() bool { return s != drops && s != letters }

// typed tells whether values keep the types of DynamoDB there: elsewhere they are JSON.
func (s section) typed() bool { return s == rows || s == aggregates || s == objects || s == letters }

// shape is what stands under a name of a section.
func (s section) shape() string {
	switch s {
	case documents:
		return "a mapping of documents by their ids"
	case objects:
		return "a mapping of objects by their names, or of a log a list of changes"
	}
	return "a list"
}

// expectation is what one entry of `expect` says: all that is to stand there.
type expectation struct {
	section section
	name    string // "" of drops and letters
	want    value
	line    int
	place   place // in the file, for update
}

// place is where an expectation stands.
type place struct {
	key, value *yaml.Node
	flow       bool // within braces or brackets
	shared     bool // an alias leads there: it is of other cases too
}

func (x expectation) String() string {
	if x.name == "" {
		return string(x.section)
	}
	return string(x.section) + "." + x.name
}

// targets are the names that a section can have.
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
	var once []string
	for _, n := range names {
		if !slices.Contains(once, n) {
			once = append(once, n)
		}
	}
	return once
}

// bucketOf is where the objects of an archive sink stand.
func bucketOf(s config.Sink) string { return cmp.Or(s.Archive.Bucket, s.Name) }

func (r *fileReader) expectations(e entry) []expectation {
	var xs []expectation
	names := make([]string, len(sections))
	for i, s := range sections {
		names[i] = string(s)
	}
	at := place{flow: follow(e.value).Style&yaml.FlowStyle != 0, shared: e.value.Kind == yaml.AliasNode}
	o := r.object(e.value, e.field, names...)
	for _, s := range sections {
		part, ok := o[string(s)]
		if !ok {
			continue
		}
		in := at
		in.shared = in.shared || part.value.Kind == yaml.AliasNode
		if !s.byName() {
			xs = append(xs, r.expectation(s, "", part, in))
			continue
		}
		in.flow = in.flow || follow(part.value).Style&yaml.FlowStyle != 0
		have := targets(r.cfg, s)
		for _, t := range r.entries(part.value, part.field) {
			if !slices.Contains(have, t.name) {
				r.fail(t.key, t.field, config.Hint(t.name, have, "there are"), "the configuration has no such %s", s.target())
				continue
			}
			sub := in
			sub.shared = sub.shared || t.value.Kind == yaml.AliasNode
			xs = append(xs, r.expectation(s, t.name, t, sub))
		}
	}
	if len(xs) == 0 && len(r.problems) == 0 {
		r.fail(e.value, e.field, "remove the key, and `tablewake test --update` writes what comes", "expects nothing")
	}
	return xs
}

// target is what a section is named by.
func (s section) target() string {
	return map[section]string{
		rows: "view sink or table", aggregates: "aggregate sink", documents: "search sink or index",
		objects: "archive sink or bucket", events: "notify sink or detector",
	}[s]
}

// expectation reads one entry, and checks that it has the form that its section has.
func (r *fileReader) expectation(s section, name string, e entry, at place) expectation {
	at.key, at.value = e.key, e.value
	x := expectation{section: s, name: name, line: e.key.Line, place: at}
	before := len(r.problems)
	x.want = r.plain(e.value, e.field, s.typed())
	if len(r.problems) > before {
		return x
	}
	k := x.want.kind
	if k != pipeline.KindL && (k != pipeline.KindM || s != documents && s != objects) || k == pipeline.KindL && s == documents {
		r.fail(e.value, e.field, "none at all is written [] or {}", "wants %s, not %s", s.shape(), found(follow(e.value)))
		return x
	}
	for i := range x.want.elems {
		n, field := elementOf(follow(e.value), i), fmt.Sprintf("%s[%d]", e.field, i)
		if k == pipeline.KindM {
			field = join(e.field, x.want.names[i])
		}
		x.want.elems[i] = r.element(s, x.want.elems[i], n, field)
	}
	return x
}

// elementOf is the node of the i-th element of a list or a mapping.
func elementOf(n *yaml.Node, i int) *yaml.Node {
	if n.Kind == yaml.MappingNode {
		i = 2*i + 1
	}
	return n.Content[i]
}

// fields are the keys of an element; of a row and a document they are the user's.
var fields = map[section][]string{
	objects: {"op", "ttl", "table", "keys", "old", "new"},
	events:  {"detector", "op", "table", "keys", "path", "old", "new"},
	drops:   {"reason", "sink", "count"},
	letters: {"class", "sink", "keys", "error"},
}

// element checks one element, and completes it.
func (r *fileReader) element(s section, v value, n *yaml.Node, field string) value {
	if v.kind == pipeline.KindL && s == objects { // an object of several changes
		for i := range v.elems {
			v.elems[i] = r.element(s, v.elems[i], elementOf(follow(n), i), fmt.Sprintf("%s[%d]", field, i))
		}
		return v
	}
	if v.kind != pipeline.KindM {
		r.fail(n, field, "", "wants a mapping, not %s", found(follow(n)))
		return v
	}
	if known := fields[s]; known != nil {
		r.object(n, field, known...)
	}
	switch {
	case s == drops && v.get("reason").kind == pipeline.Absent:
		r.fail(n, field, "", `the key "reason" is missing`)
	case s == drops && v.get("count").kind == pipeline.Absent:
		v = v.with("count", count(1))
	case s == letters && v.get("class").kind == pipeline.Absent:
		r.fail(n, field, "", `the key "class" is missing`)
	}
	return v
}
