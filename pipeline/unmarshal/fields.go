package unmarshal

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fieldTag is what a field's dynamodbav tag means to decoding.
type fieldTag struct {
	name     string
	ignored  bool
	asString bool // an S holds a number
}

// parseFieldTag reads the tag `dynamodbav:"name,option,..."`. Options that change
// nothing in decoding are passed over: omitempty, stringset and their like, and
// unixtime, as a time takes an N in any case.
func parseFieldTag(t reflect.StructTag) (tag fieldTag) {
	name, options, _ := strings.Cut(t.Get("dynamodbav"), ",")
	if name == "-" {
		tag.ignored = true
		return tag
	}
	tag.name = name
	tag.asString = slices.Contains(strings.Split(options, ","), "string")
	return tag
}

// structField is a field that an attribute is decoded into.
type structField struct {
	name    string
	tagged  bool  // its name comes from a tag
	index   []int // through embedded structs
	decoder *typeDecoder
	direct  bool    // it lies in the struct itself, and may be set
	offset  uintptr // where
	text    bool    // it takes an S as it is, where it lies
	bit     uint64  // one of 64: other fields of large structs have it too

	head, tail uint64   // of the name, as wordsOf has them
	mask       uint64   // of the name's bytes in head; 0 where it is not compared by words
	next       follower // the field that comes behind it
}

// fieldSet finds the fields of a struct by the names of attributes.
type fieldSet struct {
	exact  map[string]*structField
	folded map[string]*structField // by folded name: the first in the struct's order
	table  []fieldSlot             // by the hash of the name; nil where a name is not plain
	first  follower                // the field that comes first
}

// lookup finds the field of the attribute name: exactly, else without regard to case.
func (s *fieldSet) lookup(name string) (*structField, bool) {
	if f, ok := s.exact[name]; ok {
		return f, true
	}
	var buf [64]byte
	f, ok := s.folded[string(appendFolded(buf[:0], name))]
	return f, ok
}

// appendFolded appends name with every letter as the least of those that
// strings.EqualFold takes for equal.
func appendFolded(dst []byte, name string) []byte {
	for _, r := range name {
		for next := unicode.SimpleFold(r); ; next = unicode.SimpleFold(r) {
			wrapped := next <= r
			if r = next; wrapped {
				break
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// embedded is a struct whose fields are still to be looked at.
type embedded struct {
	typ    reflect.Type
	index  []int
	direct bool // embedded as a struct, not as a pointer to one
	offset uintptr
	twice  bool // embedded more than once at its depth: its fields hide each other
}

// fieldsOf finds the fields of a struct and of those embedded in it, by Go's
// rules: of fields with one name the least deep counts, at equal depth the one
// that is tagged, and where that leaves more than one, none does.
func fieldsOf(t reflect.Type) *fieldSet {
	found := map[string][]*structField{} // at the least depth of the name
	seen := map[reflect.Type]bool{}
	for level := []embedded{{typ: t, direct: true}}; len(level) > 0; {
		here := map[string][]*structField{}
		var next []embedded
		for _, e := range level {
			if seen[e.typ] {
				continue
			}
			seen[e.typ] = true
			next = e.collect(here, next)
		}
		for name, fs := range here {
			if _, hidden := found[name]; !hidden {
				found[name] = fs
			}
		}
		level = next
	}
	return newFieldSet(found)
}

// collect adds the fields of e to found, and what is embedded in e to next.
func (e embedded) collect(found map[string][]*structField, next []embedded) []embedded {
	for i := range e.typ.NumField() {
		sf := e.typ.Field(i)
		if !sf.IsExported() && !sf.Anonymous {
			continue
		}
		tag := parseFieldTag(sf.Tag)
		if tag.ignored {
			continue
		}
		ft := sf.Type
		if ft.Name() == "" && ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		index := append(slices.Clone(e.index), i)
		if sf.Anonymous && tag.name == "" && ft.Kind() == reflect.Struct {
			if at := slices.IndexFunc(next, func(n embedded) bool { return n.typ == ft }); at >= 0 {
				next[at].twice = true
			} else {
				next = append(next, embedded{typ: ft, index: index, direct: e.direct && ft == sf.Type, offset: e.offset + sf.Offset})
			}
			continue
		}
		if !sf.IsExported() && ft.Kind() != reflect.Struct {
			continue // reflection may not set it
		}
		f := &structField{name: cmp.Or(tag.name, sf.Name), tagged: tag.name != "", index: index, decoder: decoderOf(sf.Type, tag.asString),
			direct: e.direct && sf.IsExported(), offset: e.offset + sf.Offset}
		if f.direct && sf.Type.Kind() == reflect.String {
			f.decoder.once.Do(f.decoder.build) // nothing lies within: it does not lead back here
			f.text = f.decoder.direct == directText
		}
		found[f.name] = append(found[f.name], f)
		if e.twice {
			found[f.name] = append(found[f.name], f)
		}
	}
	return next
}

func newFieldSet(found map[string][]*structField) *fieldSet {
	var fields []*structField
	for _, fs := range found {
		if tagged := slices.DeleteFunc(slices.Clone(fs), func(f *structField) bool { return !f.tagged }); len(tagged) > 0 {
			fs = tagged
		}
		if len(fs) == 1 {
			fields = append(fields, fs[0])
		}
	}
	slices.SortFunc(fields, func(a, b *structField) int { return slices.Compare(a.index, b.index) })
	s := &fieldSet{exact: make(map[string]*structField, len(fields)), folded: make(map[string]*structField, len(fields))}
	for i, f := range fields {
		f.bit = 1 << (i % 64)
		s.exact[f.name] = f
		folded := string(appendFolded(nil, f.name))
		if _, taken := s.folded[folded]; !taken {
			s.folded[folded] = f
		}
	}
	if s.table = tableOf(fields); s.table != nil {
		for _, f := range fields {
			f.setWords()
		}
	}
	return s
}
