// Package template builds values from the attributes of a change by templates
// such as 'STATUS#{Status}' and '{CreatedAt|date:2006-01-02}#{@key}'.
//
//	{Address.City} {Lines[0].sku} {["first-name"]}   the value at a path
//	{path?}                                          that may be missing
//	{path|fn:argument|fn}                            its text, put through functions
//	{@key} {@version} {@seq} {@time} {@op} {@table}  of the change
//	{each.path}                                      of a list's element, under for_each
//	{{ }}                                            braces
//
// Functions are lower, upper, esc (percent-encoding), hash (32 hex digits of
// SHA-256), index_name (an injective, legal name of an index), pad:N (zeros up to N characters),
// date:LAYOUT (a Go layout, in UTC), after:S and before:S (the first S; missing without one),
// split:S:I (piece I from 0, or from -1 backwards; missing beyond them) and default:S (where the
// text is missing). An argument goes to the next | or }, which \ escapes, as it does : and \.
//
// A template is compiled once and evaluated without allocation beyond its
// result. The package promises that escaping is injective: what |esc, {@key},
// index_name and object keys make of two different texts differs, and
// [Template.Cut] takes escaped parts out of a result again.
package template

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline"
)

// Template is a parsed template. It is safe for concurrent use.
type Template struct {
	src      string
	literals []string // around the placeholders: one more than those, some empty
	holes    []placeholder
	constant pipeline.Value // of a template without placeholders
}

// placeholder is what stands between braces.
type placeholder struct {
	source   source
	name     string // path as written, or @key, ...: what missing reports
	path     pipeline.Path
	indexes  []int // of {each[1][2].path}, before path
	optional bool
	calls    []call
}

// source says where a placeholder's value is from.
type source uint8

const (
	fromItem source = iota
	fromEach
	fromKey
	fromVersion
	fromSequence
	fromTime
	fromOperation
	fromTable
)

// Scope is what a template reads.
type Scope struct {
	Change *pipeline.Change // for {@key} and its like; they are missing where it is nil
	Item   pipeline.Image   // where paths are looked up
	Each   pipeline.Value   // for {each.path}
	EachOf string           // path of the list that Each is an element of; needed where there is a Mask
	Mask   *pipeline.Mask   // what a placeholder makes of what is hidden is masked; nil hides nothing
}

// ScopeOf is the scope of archive and notify: a path reads the new image where
// there is one, else the old, else the keys.
func ScopeOf(c *pipeline.Change) Scope {
	switch {
	case c.New.Exists():
		return Scope{Change: c, Item: c.New}
	case c.Old.Exists():
		return Scope{Change: c, Item: c.Old}
	default:
		return Scope{Change: c, Item: c.Keys}
	}
}

// Value evaluates the template: with its DynamoDB type where it is exactly one
// {path}, as an S otherwise.
//
// It is Absent where there is nothing to write. Then missing is the first path
// (or @name) that is required and is missing, NULL or an empty S or B; or "" where only
// optional ones are. A key of a row treats both as sparse, an attribute is left
// out for both. An error is permanent and names the path: a value of a type that
// text cannot be made of, or one that date cannot read. It never shows the value.
func (t *Template) Value(s Scope) (v pipeline.Value, missing string, err error) {
	if len(t.holes) == 0 {
		return t.constant, "", nil
	}
	if h, ok := t.wholePath(); ok {
		if v, ok := h.lookup(&s); ok && !empty(v) {
			return h.masked(&s, v), "", nil
		}
		if h.optional {
			return pipeline.Value{}, "", nil
		}
		return pipeline.Value{}, h.name, nil
	}
	var buf [256]byte
	text, missing, err := t.AppendText(buf[:0], s)
	if err != nil || len(text) == 0 {
		return pipeline.Value{}, missing, err
	}
	return pipeline.StringValue(string(text)), "", nil
}

// AppendText is Value as text, appended to dst. Where Value would be Absent or
// an error, dst is returned as it was.
func (t *Template) AppendText(dst []byte, s Scope) (out []byte, missing string, err error) {
	start := len(dst)
	for i := range t.holes {
		h := &t.holes[i]
		dst = append(dst, t.literals[i]...)
		var found bool
		dst, found, err = h.append(dst, &s)
		if err != nil {
			return dst[:start], "", errs.Errorf("template %q: %w", pipeline.Safe(t.src), err)
		}
		if !found && !h.optional {
			return dst[:start], h.name, nil
		}
	}
	return append(dst, t.literals[len(t.holes)]...), "", nil
}

// none stands in object keys for a value that is missing.
const none = "_none"

// AppendObjectKey appends the template as an object key: every placeholder is
// percent-encoded by itself ({@key} and what ends in |esc are already), and a missing
// value, also an optional one, is _none. The text of a value never yields _none, nor a segment of
// dots alone, nor a slash: such text is escaped further, and [pipeline.Unescape] reads it. Errors are as Value's.
func (t *Template) AppendObjectKey(dst []byte, s Scope) ([]byte, error) {
	origin := len(dst)
	for i := range t.holes {
		h := &t.holes[i]
		dst = append(dst, t.literals[i]...)
		start := len(dst)
		var found bool
		var err error
		dst, found, err = h.append(dst, &s)
		switch {
		case err != nil:
			return dst[:origin], errs.Errorf("template %q: %w", pipeline.Safe(t.src), err)
		case !found:
			dst = append(dst, none...)
			continue
		case !h.escaped():
			dst = escape(dst, start)
		}
		dst = guard(dst, start)
	}
	return append(dst, t.literals[len(t.holes)]...), nil
}

// guard escapes further what escaped text alone could be mistaken for: the
// stand-in of a missing value, and the folders . and ..
func guard(dst []byte, start int) []byte {
	text := dst[start:]
	if string(text) == none {
		return append(dst[:start], "%5Fnone"...)
	}
	for _, b := range text {
		if b != '.' {
			return dst
		}
	}
	n := len(text)
	dst = dst[:start]
	for range n {
		dst = append(dst, "%2E"...)
	}
	return dst
}

// String is the template as written.
func (t *Template) String() string { return t.src }

// Paths are the item paths that the template reads, as written and without ?, in
// order. Those of {each.path} and of {@name} are not among them.
func (t *Template) Paths() []string { return t.paths(fromItem) }

// EachPaths are the paths of {each.path} that the template reads: as written, with
// each and without ?, in order.
func (t *Template) EachPaths() []string { return t.paths(fromEach) }

func (t *Template) paths(from source) []string {
	var paths []string
	for _, h := range t.holes {
		if h.source == from {
			paths = append(paths, h.name)
		}
	}
	return paths
}

// Prefix is the text that every result begins with; whole tells that it is all of it.
func (t *Template) Prefix() (text string, whole bool) {
	if len(t.holes) == 0 {
		text, _ = t.constant.Text()
		return text, true
	}
	return t.literals[0], false
}

// Stable tells whether the template yields the same for every change that leaves
// the item as it is: it reads the item, {@key} and {@table}, and of the change nothing else.
func (t *Template) Stable() bool {
	for _, h := range t.holes {
		switch h.source {
		case fromVersion, fromSequence, fromTime, fromOperation:
			return false
		}
	}
	return true
}

// OfTable tells whether the template yields the same for every change of a table: it
// reads {@table} and nothing else.
func (t *Template) OfTable() bool {
	for _, h := range t.holes {
		if h.source != fromTable {
			return false
		}
	}
	return true
}

// Placeholder tells what stands between two literals, for who has to say it in
// another language.
type Placeholder struct {
	Name    string // the path as written and without ?, or @time and its like
	Layout  string // of date, where the text is the value put through date and nothing else
	Changed bool   // the value is put through other functions

	IndexName bool // the last of them is index_name: the text can be a part of an index's name
}

// Placeholders are those of the template, in order: each stands between two of its
// Literals.
func (t *Template) Placeholders() []Placeholder {
	ps := make([]Placeholder, len(t.holes))
	for i, h := range t.holes {
		ps[i].Name = h.name
		ps[i].IndexName = len(h.calls) > 0 && h.calls[len(h.calls)-1].fn == fnIndexName
		switch {
		case len(h.calls) == 0:
		case len(h.calls) == 1 && h.calls[0].fn == fnDate:
			ps[i].Layout = h.calls[0].text
		default:
			ps[i].Changed = true
		}
	}
	return ps
}

// Literals are the texts around the placeholders, as results hold them: one more
// than there are placeholders, some empty.
func (t *Template) Literals() []string { return slices.Clone(t.literals) }

// wholePath is the placeholder of a template that is exactly one {path}.
func (t *Template) wholePath() (*placeholder, bool) {
	if len(t.holes) != 1 || t.literals[0] != "" || t.literals[1] != "" {
		return nil, false
	}
	h := &t.holes[0]
	return h, h.source <= fromEach && len(h.calls) == 0
}

// Path is the path whose value t makes as it is, with its type; false where t makes a
// text.
func (t *Template) Path() (string, bool) {
	h, ok := t.wholePath()
	if !ok {
		return "", false
	}
	return h.name, true
}

// escaped tells whether the placeholder's text is percent-encoded by itself.
func (h *placeholder) escaped() bool {
	if len(h.calls) == 0 {
		return h.source == fromKey
	}
	return h.calls[len(h.calls)-1].fn == fnEsc
}

// empty tells whether v counts as missing: NULL, or an S or B of no bytes.
func empty(v pipeline.Value) bool {
	switch v.Kind() {
	case pipeline.Absent, pipeline.KindNULL:
		return true
	case pipeline.KindS, pipeline.KindB:
		return v.Len() == 0
	default:
		return false
	}
}
