package configtest

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
)

// File is a file of tests, checked against the configuration that it tests.
type File struct {
	Path  string
	Cases []*Case // in the order of the file

	text []byte
	mode os.FileMode
}

// Case is one test.
type Case struct {
	Name   string
	Line   int // of the case in its file
	steps  []step
	expect []expectation
	keys   map[string][]string // key attributes by table

	node *yaml.Node // the mapping, where an expectation may be added
	none bool       // it has no `expect`
}

// step is one change that a case gives, or records out of a file.
type step struct {
	fixture     string // path; "" where the step is a change
	first, last int    // lines of the fixture, 1-based; 0, 0: all of it
	change      change
}

// change is a change as a step gives it.
type change struct {
	table    string
	op       pipeline.Operation
	ttl      bool
	at       time.Time // zero: a second behind the step before
	keys     value
	old, new value // absent where there is no such image
}

// Load reads a file of tests of cfg. The error is [config.Problems], or says why the
// file cannot be read.
func Load(path string, cfg *config.Config) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parse(path, b, cfg)
	if err != nil {
		return nil, err
	}
	f.mode = info.Mode().Perm()
	return f, nil
}

func parse(path string, b []byte, cfg *config.Config) (*File, error) {
	f := &File{Path: path, text: b, mode: 0o644}
	r := &fileReader{reader: reader{file: path}, cfg: cfg, dir: filepath.Dir(path)}
	if doc := r.document(b); doc != nil {
		r.read(f, doc)
	}
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, func(a, b config.Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
		return nil, r.problems
	}
	return f, nil
}

// fileReader reads one file of tests.
type fileReader struct {
	reader
	cfg  *config.Config
	dir  string              // of the file: fixtures are named from there
	keys map[string][]string // key attributes by table
}

func (r *fileReader) read(f *File, doc *yaml.Node) {
	top := r.object(doc, "", "keys", "tests")
	r.keyNames(top, doc)
	tests, ok := top["tests"]
	if !ok {
		r.fail(doc, "", "add `tests:`, a list of cases", `the key "tests" is missing`)
		return
	}
	names := make(map[string]int)
	for _, e := range r.items(tests.value, tests.field) {
		c := r.readCase(e)
		if line := names[c.Name]; line > 0 && c.Name != "" {
			r.fail(e.value, e.field+".name", "give each test a name of its own", "%s is the name of the test in line %d too", singleQuoted(c.Name), line)
		}
		names[c.Name] = c.Line
		f.Cases = append(f.Cases, c)
	}
	if len(f.Cases) == 0 && len(r.problems) == 0 {
		r.fail(tests.value, tests.field, "add a test", "is empty")
	}
}

// keyNames reads the key attributes: a list, or by table where there are several.
func (r *fileReader) keyNames(top map[string]entry, doc *yaml.Node) {
	r.keys = make(map[string][]string)
	e, ok := top["keys"]
	if !ok {
		r.fail(doc, "", "add the key attributes of the source table: `keys: [PK, SK]`", `the key "keys" is missing`)
		return
	}
	if follow(e.value).Kind != yaml.MappingNode {
		names := r.keyList(e)
		for _, t := range r.cfg.Source.Tables {
			r.keys[t.Name] = names
		}
		return
	}
	for _, t := range r.entries(e.value, e.field) {
		if r.table(t.key, t.field, t.name) {
			r.keys[t.name] = r.keyList(t)
		}
	}
}

func (r *fileReader) keyList(e entry) []string {
	var names []string
	for _, k := range r.items(e.value, e.field) {
		if name, ok := r.word(k); ok {
			names = append(names, name)
		}
	}
	if n := len(follow(e.value).Content); follow(e.value).Kind == yaml.SequenceNode && (n < 1 || n > 2) {
		r.fail(e.value, e.field, "", "a table has one or two key attributes, not %d", n)
		return nil
	}
	return names
}

// table checks that the configuration reads a table.
func (r *fileReader) table(n *yaml.Node, field, name string) bool {
	var have []string
	for _, t := range r.cfg.Source.Tables {
		have = append(have, t.Name)
	}
	if slices.Contains(have, name) {
		return true
	}
	r.fail(n, field, config.Hint(name, have, "its tables are"), "the source of the configuration has no table %s", singleQuoted(name))
	return false
}

func (r *fileReader) readCase(e entry) *Case {
	c := &Case{Line: e.value.Line, keys: r.keys, node: e.value}
	o := r.object(e.value, e.field, "name", "given", "expect")
	if name, ok := o["name"]; ok {
		c.Name, _ = r.word(name)
	} else if len(o) > 0 {
		r.fail(e.value, e.field, "", `the key "name" is missing`)
	}
	if given, ok := o["given"]; ok {
		for _, s := range r.items(given.value, given.field) {
			c.steps = append(c.steps, r.step(s))
		}
	} else if len(o) > 0 {
		r.fail(e.value, e.field, "add the changes that come: `given: [{new: {...}}]`", `the key "given" is missing`)
	}
	expect, ok := o["expect"]
	if c.none = !ok; ok {
		c.expect = r.expectations(expect)
	}
	return c
}

func (r *fileReader) step(e entry) step {
	o := r.object(e.value, e.field, "old", "new", "op", "ttl", "at", "table", "fixture", "lines")
	if f, ok := o["fixture"]; ok {
		for _, name := range []string{"old", "new", "op", "ttl", "at", "table"} {
			if k, ok := o[name]; ok {
				r.fail(k.key, k.field, "make two steps of it", "the records of a fixture say this themselves")
			}
		}
		return r.fixture(f, o)
	}
	if l, ok := o["lines"]; ok {
		r.fail(l.key, l.field, "add `fixture: FILE`", "are lines of no fixture")
	}
	return step{change: r.change(e, o)}
}

// fixture reads a step of saved records.
func (r *fileReader) fixture(f entry, o map[string]entry) step {
	var s step
	name, ok := r.word(f)
	if !ok {
		return s
	}
	s.fixture = name
	if !filepath.IsAbs(name) {
		s.fixture = filepath.Join(r.dir, name)
	}
	if _, err := os.Stat(s.fixture); err != nil {
		r.fail(f.value, f.field, "a fixture is named from the folder of this file", "%v", err)
	}
	if l, ok := o["lines"]; ok {
		from, to, span := strings.Cut(l.value.Value, "-")
		if !span {
			to = from
		}
		var errFrom, errTo error
		s.first, errFrom = strconv.Atoi(from)
		s.last, errTo = strconv.Atoi(to)
		if errFrom != nil || errTo != nil || s.first < 1 || s.last < s.first {
			r.fail(l.value, l.field, "write 3, or 3-7", "%s are no lines", singleQuoted(l.value.Value))
		}
	}
	return s
}

// change reads a step that is a change.
func (r *fileReader) change(e entry, o map[string]entry) change {
	before := len(r.problems)
	c := change{old: r.image(o, "old"), new: r.image(o, "new")}
	sound := len(r.problems) == before
	if len(r.cfg.Source.Tables) > 0 {
		c.table = r.cfg.Source.Tables[0].Name
	}
	if t, ok := o["table"]; ok {
		if name, ok := r.word(t); ok && r.table(t.value, t.field, name) {
			c.table = name
		}
	} else if len(r.cfg.Source.Tables) > 1 {
		r.fail(e.value, e.field, "add `table: NAME`", "the source has several tables, and the step does not say which")
	}
	if at, ok := o["at"]; ok {
		c.at = r.time(at)
	}
	r.operation(e, o, &c, sound)
	r.itemKeys(e, o, &c)
	return c
}

// time reads a creation time. In the year 9999, the last that records can say, the
// steps behind it would have none.
func (r *fileReader) time(e entry) time.Time {
	const hint = "write it as 2026-03-01T12:00:00Z"
	n := follow(e.value)
	t, err := time.Parse(time.RFC3339Nano, n.Value)
	if err != nil {
		r.fail(n, e.field, hint, "%s is no time", singleQuoted(n.Value))
	} else if y := t.UTC().Year(); y < 1970 || y > 9998 {
		r.fail(n, e.field, hint, "wants a time from 1970 to 9998, not %s", n.Value)
	}
	return t
}

func (r *fileReader) image(o map[string]entry, name string) value {
	e, ok := o[name]
	if !ok {
		return value{}
	}
	before := len(r.problems)
	v := r.plain(e.value, e.field, true)
	if v.kind == pipeline.KindNULL {
		return value{}
	}
	if v.kind != pipeline.KindM {
		if len(r.problems) == before {
			r.fail(e.value, e.field, "", "an image is a mapping of attributes, not %s", found(follow(e.value)))
		}
		return value{}
	}
	if len(r.problems) == before {
		if _, err := pipeline.ParseImage(v.appendMembers(nil)); err != nil {
			r.fail(e.value, e.field, "", "is no item: %v", err)
		}
	}
	return v
}

// operation derives what happened from the images, or checks what the step says of it. Where an
// image is not sound, that is told already.
func (r *fileReader) operation(e entry, o map[string]entry, c *change, sound bool) {
	old, new := c.old.kind != pipeline.Absent, c.new.kind != pipeline.Absent
	fits := map[string]bool{"INSERT": !old && new, "MODIFY": old && new, "REMOVE": old && !new, "SNAPSHOT": !old && new}
	switch {
	case old && new:
		c.op = pipeline.Modify
	case old:
		c.op = pipeline.Remove
	case new:
		c.op = pipeline.Insert
	default:
		if follow(e.value).Kind == yaml.MappingNode && sound {
			r.fail(e.value, e.field, "`new` alone is an insert, `old` alone a removal, both a change", "wants an image: old, new or both; or a fixture")
		}
	}
	if op, ok := o["op"]; ok {
		name, _ := r.word(op)
		possible, known := fits[name]
		switch {
		case name == "":
		case !known:
			r.fail(op.value, op.field, config.Hint(name, []string{"INSERT", "MODIFY", "REMOVE", "SNAPSHOT"}, "the operations are"), "%s is no operation", singleQuoted(name))
		case !possible:
			r.fail(op.value, op.field, "leave it away: it follows from the images", "%s does not have these images", name)
		case name == "SNAPSHOT":
			c.op = pipeline.Snapshot
		}
	}
	if ttl, ok := o["ttl"]; ok {
		if c.ttl = r.flag(ttl); c.ttl && (!old || new) {
			r.fail(ttl.value, ttl.field, "a TTL delete has `old` alone", "only a removal is made by TTL")
		}
	}
}

// itemKeys takes the key out of the images.
func (r *fileReader) itemKeys(e entry, o map[string]entry, c *change) {
	c.keys = object()
	if len(r.keys[c.table]) == 0 && len(r.problems) == 0 {
		r.fail(e.value, e.field, "add it there: `"+c.table+": [PK, SK]`", "`keys` does not say which attributes are the key of the table %s", c.table)
	}
	for _, name := range []string{"old", "new"} {
		image := c.old
		if name == "new" {
			image = c.new
		}
		if image.kind == pipeline.Absent {
			continue
		}
		for _, k := range r.keys[c.table] {
			v, at := image.get(k), o[name]
			switch seen := c.keys.get(k); {
			case v.kind == pipeline.Absent:
				r.fail(at.value, at.field, "", "the key attribute %s is missing", k)
			case v.kind != pipeline.KindS && v.kind != pipeline.KindN && v.kind != pipeline.KindB || v.text == "":
				r.fail(at.value, join(at.field, k), "", "a key attribute is a text, a number or a $B, and not empty")
			case seen.kind == pipeline.Absent:
				c.keys = c.keys.with(k, v)
			case !seen.equal(v):
				r.fail(at.value, join(at.field, k), "an item that moves to another key is removed and inserted: two steps", "old and new are of two items")
			}
		}
	}
}
