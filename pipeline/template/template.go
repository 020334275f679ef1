// Package template makes values from the attributes of a change by templates such as
// 'STATUS#{Status}' and '{CreatedAt|date:2006-01-02}#{@key}'.
//
//	{Address.City} {Lines[0].sku} {["first-name"]}   the value at a path
//	{path?}                                          the same, and it may be missing
//	{path|fn:argument|fn}                            its text after functions
//	{@key} {@version} {@seq} {@time} {@op} {@table}  of the change
//	{@shard}                                         of the item, in the partition key of a view with shards
//	{@entity}                                        the name of the item's entity, or no text
//	{each.path} {@each}                              of an element, under for_each; its escaped identity
//	{Name} {item.path}                               in a rule about entities: what their keys bind; the item
//	{{ }}                                            braces
//
// The functions are lower, upper, esc (percent-encoding), hash (32 hex digits of SHA-256),
// index_name (an injective, legal name of an index), pad:N (zeros up to N characters), pad:N.D (of a number rounded
// down to D digits behind the point), sortable (a text of any number that sorts by value), date:LAYOUT (a Go layout, in
// UTC), zone:NAME|date:LAYOUT (in a time zone, which times without one are of, too), after:S and before:S (the text
// after or before the first S; missing without S), split:S:I (piece I from 0, or from -1 backwards; missing if there is
// none) and default:S (the text if the value is missing). An argument ends at the next | or }. A backslash escapes |,
// }, : and itself.
//
// A template is compiled once. Its evaluation allocates only the result. Escaping is injective:
// |esc, {@key}, {@each}, index_name and object keys make different texts of different values, and
// [Template.Cut] takes escaped parts out of a result again.
//
// Start reading at parse.go and template.go. text.go evaluates placeholders, function.go has their
// functions, and ambiguity.go decides for cut.go which parts of a result can be separated.
package template

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// Template is a parsed template. It is safe for concurrent use.
type Template struct {
	src          string
	literals     []string // the texts around the placeholders: one more than placeholders, some empty
	placeholders []placeholder
	constant     item.Value // the value of a template without placeholders
}

// placeholder is the part of a template between braces.
type placeholder struct {
	source   source
	name     string // the path as written, or @key, ...
	path     item.Path
	bound    *entity.Binding // of a bound name
	entities *entity.Set     // of @entity
	indexes  []int           // of {each[1][2].path}, before path
	optional bool
	calls    []call
}

// source is the origin of a placeholder's value.
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
	fromShard
	fromEntity
	fromIdentity
	fromBound
)

// Scope has the values that a template reads.
type Scope struct {
	Change *record.Change // for {@key} and the other @ names; nil makes them missing
	Item   item.Image     // for paths
	Each   item.Value     // for {each.path}
	EachOf string         // the pattern of Each, as in Lines[*]; required with a Mask
	ID     string         // for {@each}: the identity of Each, not escaped; "" makes it missing
	IDOf   string         // the pattern of the value that ID is made of; "" if it is made of none
	Shards int            // for {@shard}: the number of shards; 0 makes it missing
	Mask   *mask.Mask     // masks the text that a placeholder makes of a hidden value; nil masks nothing
}

// ScopeOf returns the scope of archive and notify sinks. A path reads the new image, or the old one
// if there is no new one, or else the keys.
func ScopeOf(c *record.Change) Scope {
	switch {
	case c.New.Exists():
		return Scope{Change: c, Item: c.New}
	case c.Old.Exists():
		return Scope{Change: c, Item: c.Old}
	default:
		return Scope{Change: c, Item: c.Keys}
	}
}

// Value evaluates the template. The result of a template that is exactly one {path} has the value's
// own type; any other result is an S.
//
// The result is Absent if a value is missing, NULL, or an empty S or B. missing is then the first
// required path or @name without a value, or "" if only optional ones have none. Callers treat both
// alike: a row without its key is not written, and an attribute is left out. An error is permanent
// and names the path, but shows no value: the type has no text, or date cannot read the text.
func (t *Template) Value(s Scope) (v item.Value, missing string, err error) {
	if len(t.placeholders) == 0 {
		return t.constant, "", nil
	}
	if h, ok := t.wholeValue(); ok {
		if v, ok := h.lookup(&s); ok && !countsAsMissing(v) {
			return h.masked(&s, v), "", nil
		}
		if h.optional {
			return item.Value{}, "", nil
		}
		return item.Value{}, h.name, nil
	}
	var buf [256]byte
	text, missing, err := t.AppendText(buf[:0], s)
	if err != nil || len(text) == 0 {
		return item.Value{}, missing, err
	}
	return item.StringValue(string(text)), "", nil
}

// AppendText appends the result of Value as text. If Value returns Absent or an error, AppendText
// returns dst unchanged.
func (t *Template) AppendText(dst []byte, s Scope) (out []byte, missing string, err error) {
	start := len(dst)
	for i := range t.placeholders {
		h := &t.placeholders[i]
		dst = append(dst, t.literals[i]...)
		var found bool
		dst, found, err = h.append(dst, &s)
		if err != nil {
			return dst[:start], "", errs.Errorf("template %q: %w", redact.Safe(t.src), err)
		}
		if !found && !h.optional {
			return dst[:start], h.name, nil
		}
	}
	return append(dst, t.literals[len(t.placeholders)]...), "", nil
}

// missingText replaces a missing value in object keys.
const missingText = "_none"

// AppendObjectKey appends the template as an object key. Every placeholder is percent-encoded by
// itself, except {@key} and those that end in |esc, which are encoded already. A missing value,
// also an optional one, is _none. The text of a value is never _none, never consists of dots alone,
// and never contains a slash: such text is encoded further, and [item.Unescape] decodes it.
// Errors are those of Value.
func (t *Template) AppendObjectKey(dst []byte, s Scope) ([]byte, error) {
	return t.appendObjectKey(dst, s, false)
}

// AppendRawObjectKey is AppendObjectKey without the encoding: the text of a value keeps its slashes. It can be an
// invalid object key, and two lists of values can have the same one.
func (t *Template) AppendRawObjectKey(dst []byte, s Scope) ([]byte, error) {
	return t.appendObjectKey(dst, s, true)
}

func (t *Template) appendObjectKey(dst []byte, s Scope, raw bool) ([]byte, error) {
	origin := len(dst)
	for i := range t.placeholders {
		h := &t.placeholders[i]
		dst = append(dst, t.literals[i]...)
		start := len(dst)
		var found bool
		var err error
		dst, found, err = h.append(dst, &s)
		switch {
		case err != nil:
			return dst[:origin], errs.Errorf("template %q: %w", redact.Safe(t.src), err)
		case !found:
			dst = append(dst, missingText...)
			continue
		case raw:
			continue
		case !h.escaped():
			dst = escape(dst, start)
		}
		dst = escapeReserved(dst, start)
	}
	return append(dst, t.literals[len(t.placeholders)]...), nil
}

// escapeReserved encodes text that has a meaning of its own: _none, and the folders . and ..
func escapeReserved(dst []byte, start int) []byte {
	text := dst[start:]
	if string(text) == missingText {
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

// String returns the source of the template.
func (t *Template) String() string { return t.src }

// Paths returns the item paths that the template reads, as written and without ?, in order. Of {@entity} they are
// the attributes that conditions of entities read. {each.path}, bound names and other {@name} are not among them.
func (t *Template) Paths() []string {
	paths := t.ItemPaths()
	for _, h := range t.placeholders {
		for _, c := range h.entities.Conditions() {
			for _, name := range c.Paths() {
				paths = append(paths, item.PathText([]string{name}))
			}
		}
	}
	return paths
}

// ItemPaths returns the item paths that the template names: Paths without those of {@entity}.
func (t *Template) ItemPaths() []string { return t.paths(fromItem) }

// KeyPaths returns the paths of the key attributes that bound names are parts of, in order. A key never changes.
func (t *Template) KeyPaths() []string {
	var paths []string
	for _, h := range t.placeholders {
		if h.source != fromBound {
			continue
		}
		for _, name := range h.bound.Attributes() {
			paths = append(paths, item.PathText([]string{name}))
		}
	}
	return paths
}

// ReadsEntity reports whether the template has {@entity}.
func (t *Template) ReadsEntity() bool {
	return slices.ContainsFunc(t.placeholders, func(h placeholder) bool { return h.source == fromEntity })
}

// DatePaths returns the item paths whose values become dates, in order.
func (t *Template) DatePaths() []string {
	var paths []string
	for _, h := range t.placeholders {
		if h.source == fromItem && slices.ContainsFunc(h.calls, func(c call) bool { return c.fn == fnDate }) {
			paths = append(paths, h.name)
		}
	}
	return paths
}

// EachPaths returns the paths of {each.path}, as written, with each and without ?, in order.
func (t *Template) EachPaths() []string { return t.paths(fromEach) }

func (t *Template) paths(from source) []string {
	var paths []string
	for _, h := range t.placeholders {
		if h.source == from {
			paths = append(paths, h.name)
		}
	}
	return paths
}

// Prefix returns the text at the beginning of every result. fixed reports that this is the whole
// result.
func (t *Template) Prefix() (text string, fixed bool) {
	if len(t.placeholders) == 0 {
		text, _ = t.constant.Text()
		return text, true
	}
	return t.literals[0], false
}

// Stable reports whether every change that leaves the item as it is has the same result: the
// template reads only the item, {@key}, {@table} and {@shard}.
func (t *Template) Stable() bool {
	for _, h := range t.placeholders {
		switch h.source {
		case fromVersion, fromSequence, fromTime, fromOperation:
			return false
		}
	}
	return true
}

// HasVersion reports whether every change of an item has another result: the template has {@version} as it is.
func (t *Template) HasVersion() bool {
	return slices.ContainsFunc(t.placeholders, func(h placeholder) bool {
		return h.source == fromVersion && len(h.calls) == 0
	})
}

// NamesItem reports whether the result depends on the item: the template reads a path of it, a name that its key binds,
// or {@key}.
func (t *Template) NamesItem() bool {
	return slices.ContainsFunc(t.placeholders, func(h placeholder) bool {
		return h.source == fromItem || h.source == fromBound || h.source == fromKey
	})
}

// OfTable reports whether all changes of a table have the same result: the template reads only
// {@table}.
func (t *Template) OfTable() bool {
	for _, h := range t.placeholders {
		if h.source != fromTable {
			return false
		}
	}
	return true
}

// HasShard reports whether the template reads {@shard}.
func (t *Template) HasShard() bool {
	return slices.ContainsFunc(t.placeholders, func(h placeholder) bool { return h.source == fromShard })
}

// Placeholder describes a placeholder to code that translates a template into another language.
type Placeholder struct {
	Name    string // the path as written and without ?, or an @ name
	Layout  string // date's layout, if date is the only function
	Changed bool   // the placeholder has other functions

	IndexName bool // the last function is index_name: the text can be a part of an index's name
}

// Placeholders returns the placeholders in order. Each is between two of the Literals.
func (t *Template) Placeholders() []Placeholder {
	ps := make([]Placeholder, len(t.placeholders))
	for i, h := range t.placeholders {
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

// Literals returns the texts around the placeholders, as they are in results: one more than
// placeholders, some empty.
func (t *Template) Literals() []string { return slices.Clone(t.literals) }

// wholePath returns the placeholder of a template that is exactly one {path}.
func (t *Template) wholePath() (*placeholder, bool) {
	if len(t.placeholders) != 1 || t.literals[0] != "" || t.literals[1] != "" {
		return nil, false
	}
	h := &t.placeholders[0]
	return h, h.source <= fromEach && len(h.calls) == 0
}

// wholeValue returns the placeholder of a template that is exactly one {path} or one bound {Name}.
func (t *Template) wholeValue() (*placeholder, bool) {
	h, ok := t.wholePath()
	if !ok && h != nil {
		ok = h.source == fromBound && len(h.calls) == 0
	}
	return h, ok
}

// Bound returns the bound name of a template that is exactly one {Name}; nil for any other template.
func (t *Template) Bound() *entity.Binding {
	if h, ok := t.wholeValue(); ok {
		return h.bound
	}
	return nil
}

// Path returns the path of a template that is exactly one {path}; false for any other template.
func (t *Template) Path() (string, bool) {
	h, ok := t.wholePath()
	if !ok {
		return "", false
	}
	return h.name, true
}

// escaped reports whether the placeholder percent-encodes its text itself.
func (h *placeholder) escaped() bool {
	if len(h.calls) == 0 {
		return h.source == fromKey
	}
	return h.calls[len(h.calls)-1].fn == fnEsc
}

// countsAsMissing reports whether v is NULL, absent, or an empty S or B.
func countsAsMissing(v item.Value) bool {
	switch v.Kind() {
	case item.Absent, item.KindNULL:
		return true
	case item.KindS, item.KindB:
		return v.Len() == 0
	default:
		return false
	}
}
