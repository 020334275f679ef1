// Package template makes values from the attributes of a change by templates such as 'STATUS#{Status}' and
// '{CreatedAt|date:2006-01-02}#{@key}'.
//
//	{Address.City} {Lines[0].sku} {["first-name"]}   the value at a path
//	{path?}                                          the same, but the value may be missing
//	{path|fn:argument|fn}                            the text of the value after functions
//	{@key} {@version} {@seq} {@time} {@op} {@table}  parts of the change
//	{@shard}                                         the item's shard, in the partition key of a view with shards
//	{@entity}                                        the name of the item's entity, or no text
//	{each.path} {@each}                              under for_each: a value in the element; the element's escaped identity
//	{Name} {item.path}                               in a rule with `of`: a name that the keys of its entities bind; a value in the item
//	{{ }}                                            braces
//
// These are the functions:
//
//	lower, upper           the text in lower case, in upper case
//	esc                    the text in percent-encoding
//	hash                   32 hex digits of SHA-256
//	index_name             a legal name of an index; different texts have different names
//	pad:N                  the text with zeros in front, up to N characters
//	pad:N.D                the same for a number, which is rounded down to D digits after the point
//	sortable               a text of any number; the texts sort as the numbers do
//	date:LAYOUT            a time in a Go layout, in UTC
//	zone:NAME|date:LAYOUT  the same in a time zone, in which a time that names no zone is read, too
//	after:S, before:S      the text after the first S, before the first S; missing without S
//	split:S:I              piece I between separators S, from 0 on, or from -1 backwards; missing if there is none
//	default:S              S if the value is missing
//
// An argument ends at the next | or }. A backslash escapes |, }, : and itself.
//
// A template is compiled once. Its evaluation allocates only the result. Escaping is injective: |esc, {@key}, {@each},
// index_name and object keys make different texts from different values. [Template.Cut] finds the escaped values in a
// result.
//
// Start reading at template_parser.go and template.go. placeholder_text.go evaluates placeholders. text_functions.go
// has the functions. ambiguity_check.go decides which texts of placeholders can be separated in a result, and
// value_extraction.go separates them.
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
	literals     []string // texts before, between and after the placeholders; some are empty
	placeholders []placeholder
	constant     item.Value // the value of a template without placeholders
}

// placeholder is the part of a template between braces.
type placeholder struct {
	source   source
	name     string // path as written, or @key, ...
	path     item.Path
	bound    *entity.Binding // binding of a bound name
	entities *entity.Set     // entities for @entity
	indexes  []int           // indexes before path, in {each[1][2].path}
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
	Change *record.Change // change for {@key} and the other @ names; nil makes them missing
	Item   item.Image     // item for paths
	Each   item.Value     // element for {each.path}
	EachOf string         // pattern of Each, such as Lines[*]; required with a Mask
	ID     string         // identity of Each for {@each}, not escaped; "" makes it missing
	IDOf   string         // pattern of the value that ID comes from; "" if ID does not come from a value
	Shards int            // number of shards for {@shard}; 0 makes it missing
	Mask   *mask.Mask     // mask for texts that come from hidden values; nil masks nothing
}

// ScopeOf returns the scope of archive and notify sinks. A path reads the new image. Without a new image, it reads the
// old image, or else the keys.
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

// Value evaluates the template. The result of a template that is exactly one {path} or one bound {Name} has the type of
// the value. Any other result is an S.
//
// A value counts as missing if it is NULL, if it is an empty S or B, or if its text after functions is empty. The
// result is Absent if a required value is missing, or if the text of the result is empty. missing is then the first
// required path or @name without a value, or "" if only optional values are missing. Callers treat both cases alike:
// they do not write a row without its key, and they leave out an attribute without a value.
//
// An error is permanent. It means that a value has a type without a text form, or that a function cannot read a text.
// The error names the path, but shows no value.
func (t *Template) Value(s Scope) (v item.Value, missing string, err error) {
	if len(t.placeholders) == 0 {
		return t.constant, "", nil
	}
	if h := t.wholeValue(); h != nil {
		v, found := h.lookup(&s)
		switch {
		case found && !countsAsMissing(v):
			return h.masked(&s, v), "", nil
		case h.optional:
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

// AppendText appends the result of Value as text. If Value returns Absent or an error, AppendText returns dst
// unchanged. missing and err are as in Value.
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

// String returns the source of the template.
func (t *Template) String() string { return t.src }

// Paths returns the item paths that the template reads, as written and without ?, in order. For {@entity}, it returns
// the attributes that conditions of entities read. It returns neither {each.path} nor bound names nor other {@name}.
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

// ItemPaths returns the item paths that the template names. Unlike Paths, it leaves out the attributes of {@entity}.
func (t *Template) ItemPaths() []string { return t.paths(fromItem) }

// KeyPaths returns the paths of the key attributes that contain the bound names of the template, in order. Their values
// never change, because an item keeps its key.
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
func (t *Template) ReadsEntity() bool { return t.reads(fromEntity) }

// reads reports whether the template has a placeholder with one of the sources.
func (t *Template) reads(sources ...source) bool {
	return slices.ContainsFunc(t.placeholders, func(h placeholder) bool { return slices.Contains(sources, h.source) })
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

// Prefix returns the text at the beginning of every result. fixed reports whether this is the whole result.
func (t *Template) Prefix() (text string, fixed bool) {
	if len(t.placeholders) == 0 {
		text, _ = t.constant.Text()
		return text, true
	}
	return t.literals[0], false
}

// Stable reports whether all changes with equal items have the same result. It returns true if the template reads
// neither {@version}, {@seq}, {@time} nor {@op}.
func (t *Template) Stable() bool { return !t.reads(fromVersion, fromSequence, fromTime, fromOperation) }

// HasVersion reports whether the template has {@version} without functions. Each change of an item then has a different
// result.
func (t *Template) HasVersion() bool {
	return slices.ContainsFunc(t.placeholders, func(h placeholder) bool {
		return h.source == fromVersion && len(h.calls) == 0
	})
}

// NamesItem reports whether the result depends on the item, because the template reads a path, a bound name or {@key}.
func (t *Template) NamesItem() bool { return t.reads(fromItem, fromBound, fromKey) }

// OfTable reports whether all changes of a table have the same result. It returns true if the template reads only
// {@table}.
func (t *Template) OfTable() bool {
	return !slices.ContainsFunc(t.placeholders, func(h placeholder) bool { return h.source != fromTable })
}

// HasShard reports whether the template reads {@shard}.
func (t *Template) HasShard() bool { return t.reads(fromShard) }

// Placeholder describes a placeholder to code that translates a template into another language.
type Placeholder struct {
	Name    string // path as written, without ?, or an @ name
	Layout  string // layout of date, if date is the only function
	Changed bool   // the placeholder has other functions

	IndexName bool // the last function is index_name, so the text can be a part of an index's name
}

// Placeholders returns the placeholders in order. Placeholder i is between the Literals i and i+1.
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

// Literals returns the texts around the placeholders, as they appear in results. There is one more literal than there
// are placeholders. Some literals are empty.
func (t *Template) Literals() []string { return slices.Clone(t.literals) }

// wholeValue returns the placeholder of a template that is exactly one {path} or one bound {Name}. It returns nil for
// any other template.
func (t *Template) wholeValue() *placeholder {
	if len(t.placeholders) != 1 || t.literals[0] != "" || t.literals[1] != "" {
		return nil
	}
	h := &t.placeholders[0]
	readsValue := h.readsPath() || h.source == fromBound
	if !readsValue || len(h.calls) > 0 {
		return nil
	}
	return h
}

// readsPath reports whether the placeholder is a {path} or an {each.path}.
func (h *placeholder) readsPath() bool { return h.source == fromItem || h.source == fromEach }

// Bound returns the bound name of a template that is exactly one {Name}. It returns nil for any other template.
func (t *Template) Bound() *entity.Binding {
	if h := t.wholeValue(); h != nil {
		return h.bound
	}
	return nil
}

// Path returns the path of a template that is exactly one {path}. It returns false for any other template.
func (t *Template) Path() (string, bool) {
	h := t.wholeValue()
	if h == nil || !h.readsPath() {
		return "", false
	}
	return h.name, true
}

// escaped reports whether the text of the placeholder is already percent-encoded.
func (h *placeholder) escaped() bool {
	if len(h.calls) == 0 {
		return h.source == fromKey
	}
	return h.calls[len(h.calls)-1].fn == fnEsc
}

// onlyEscapes reports whether |esc is the only function of the placeholder.
func (h *placeholder) onlyEscapes() bool { return len(h.calls) == 1 && h.calls[0].fn == fnEsc }

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
