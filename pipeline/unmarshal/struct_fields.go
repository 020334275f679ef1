package unmarshal

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// fieldTag is the part of a field's dynamodbav tag that affects decoding.
type fieldTag struct {
	name     string
	ignored  bool
	asString bool // an S is decoded as a number
}

// parseFieldTag reads the tag `dynamodbav:"name,option,..."`. Decoding ignores options such as omitempty and stringset.
// It also ignores unixtime, because a time accepts an N even without this option.
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

// structField is a field of a struct that receives an attribute.
type structField struct {
	name     string
	tagged   bool  // the name comes from a tag
	index    []int // as reflect.StructField.Index
	pointers []embeddedPointer
	offset   uintptr // offset in the struct, or in the struct that the last pointer points to
	plan     *typePlan
}

// embeddedPointer is an embedded pointer to a struct. The decoder follows it to reach a field of that struct.
type embeddedPointer struct {
	offset   uintptr
	elem     reflect.Type
	exported bool
}

// fieldOf returns the memory of the field in the struct s. It allocates the embedded structs that contain the field and
// are missing. It returns an error if it cannot allocate one, because its type is not exported.
func (f *structField) fieldOf(s target) (target, error) {
	for _, p := range f.pointers {
		s = s.field(p.offset)
		if s.pointee().isNil() {
			if !p.exported {
				return s, errs.New("it lies behind an embedded pointer to a type that is not exported")
			}
			*as[target](s) = newTarget(p.elem)
		}
		s = s.pointee()
	}
	return s.field(f.offset), nil
}

// embeddedStruct is a struct whose fields are still to be found.
type embeddedStruct struct {
	typ      reflect.Type
	index    []int
	pointers []embeddedPointer
	offset   uintptr
	twice    bool // the type is embedded twice or more at its depth, so its fields hide each other
}

// fieldsOf finds the fields of a struct and of its embedded structs, by Go's rules. If several fields have the same
// name, the field with the least depth is used. If several fields have this depth, the tagged field is used. If several
// fields remain, none of them is used.
func fieldsOf(t reflect.Type) *fieldSet {
	fieldsByName := map[string][]*structField{} // the fields of each name, at the least depth that has the name
	seen := map[reflect.Type]bool{}
	for level := []embeddedStruct{{typ: t}}; len(level) > 0; {
		fields := map[string][]*structField{}
		var next []embeddedStruct
		for _, e := range level {
			if seen[e.typ] {
				continue
			}
			seen[e.typ] = true
			next = e.collect(fields, next)
		}
		for name, fs := range fields {
			if _, hidden := fieldsByName[name]; !hidden {
				fieldsByName[name] = fs
			}
		}
		level = next
	}
	return newFieldSet(fieldsByName)
}

// collect adds the fields of e to fieldsByName, and the structs embedded in e to next.
func (e embeddedStruct) collect(fieldsByName map[string][]*structField, next []embeddedStruct) []embeddedStruct {
	for i := range e.typ.NumField() {
		sf := e.typ.Field(i)
		tag := parseFieldTag(sf.Tag)
		fieldType := sf.Type
		if fieldType.Name() == "" && fieldType.Kind() == reflect.Pointer {
			fieldType = fieldType.Elem()
		}
		isStruct := fieldType.Kind() == reflect.Struct
		canSet := sf.IsExported() || sf.Anonymous && isStruct // by reflection
		index, offset := append(slices.Clone(e.index), i), e.offset+sf.Offset
		switch {
		case tag.ignored || !canSet:
		case isStruct && sf.Anonymous && tag.name == "":
			next = addEmbedded(next, e.inner(sf, fieldType, index, offset))
		default:
			f := &structField{name: cmp.Or(tag.name, sf.Name), tagged: tag.name != "", index: index, pointers: e.pointers,
				offset: offset,
				plan:   planOf(sf.Type, options{asString: tag.asString, unexported: !sf.IsExported()})}
			fieldsByName[f.name] = append(fieldsByName[f.name], f)
			if e.twice { // the second copy makes the name ambiguous
				fieldsByName[f.name] = append(fieldsByName[f.name], f)
			}
		}
	}
	return next
}

// addEmbedded adds an embedded struct to the structs of its depth. It adds no second struct of the same type.
func addEmbedded(structs []embeddedStruct, e embeddedStruct) []embeddedStruct {
	for i := range structs {
		if structs[i].typ == e.typ {
			structs[i].twice = true
			return structs
		}
	}
	return append(structs, e)
}

// inner returns the struct that the field sf of e embeds, or embeds a pointer to. t is the type of this struct.
func (e embeddedStruct) inner(sf reflect.StructField, t reflect.Type, index []int, offset uintptr) embeddedStruct {
	if t == sf.Type {
		return embeddedStruct{typ: t, index: index, pointers: e.pointers, offset: offset}
	}
	pointer := embeddedPointer{offset: offset, elem: t, exported: sf.IsExported()}
	return embeddedStruct{typ: t, index: index, pointers: append(slices.Clone(e.pointers), pointer)}
}

// fieldSet finds the fields of a struct by the names of attributes.
type fieldSet struct {
	fields []*structField // in the order of the struct
	table  []fieldSlot    // hash table by hashWords, with linear probing; nil if a name is not plain
}

// fieldSlot is a slot of the table: a field, and its name as wordsOf returns it.
type fieldSlot struct {
	first, last uint64
	field       *structField // nil if the slot is free
}

func newFieldSet(fieldsByName map[string][]*structField) *fieldSet {
	s := &fieldSet{}
	for _, candidates := range fieldsByName {
		if f := unambiguous(candidates); f != nil {
			s.fields = append(s.fields, f)
		}
	}
	slices.SortFunc(s.fields, func(a, b *structField) int { return slices.Compare(a.index, b.index) })
	if slices.ContainsFunc(s.fields, func(f *structField) bool { return !isPlain([]byte(f.name)) }) {
		return s
	}
	s.table = make([]fieldSlot, 1<<bits.Len(uint(2*len(s.fields)))) // half of the slots stay free
	for _, f := range s.fields {
		first, last := wordsOf([]byte(f.name))
		slot := hashWords(first, last)
		for s.table[slot%uint(len(s.table))].field != nil {
			slot++
		}
		s.table[slot%uint(len(s.table))] = fieldSlot{first, last, f}
	}
	return s
}

// unambiguous chooses among fields with the same name and depth. It returns the only field, or else the only tagged
// field, or else nil.
func unambiguous(candidates []*structField) *structField {
	if len(candidates) == 1 {
		return candidates[0]
	}
	var tagged *structField
	for _, f := range candidates {
		switch {
		case f.tagged && tagged != nil:
			return nil
		case f.tagged:
			tagged = f
		}
	}
	return tagged
}

// find returns the field of an attribute. This is the field with exactly its name, or else the first field whose name
// differs only in case. It returns nil if no field has the name. raw is the attribute's name in JSON.
func (s *fieldSet) find(raw []byte) *structField {
	if len(s.table) == 0 {
		return s.findAny(raw)
	}
	var folded *structField
	first, last := wordsOf(raw)
	for hash := hashWords(first, last); ; hash++ {
		slot := &s.table[hash&uint(len(s.table)-1)]
		f := slot.field
		if f == nil {
			if folded != nil || isPlain(raw) {
				return folded
			}
			return s.findAny(raw)
		}
		if len(f.name) != len(raw) {
			continue
		}
		hasEqualWords := slot.first == first && slot.last == last
		if hasEqualWords && (len(raw) <= 16 || f.name == string(raw)) {
			return f
		}
		if folded == nil && strings.EqualFold(f.name, ddbjson.View(raw)) {
			folded = f
		}
	}
}

// findAny does the same as find without the table, for names that are not plain.
func (s *fieldSet) findAny(raw []byte) *structField {
	name := textOf(raw)
	i := slices.IndexFunc(s.fields, func(f *structField) bool { return f.name == name })
	if i < 0 {
		i = slices.IndexFunc(s.fields, func(f *structField) bool { return strings.EqualFold(f.name, name) })
	}
	if i < 0 {
		return nil
	}
	return s.fields[i]
}

// isPlain reports whether a name is ASCII and has no escapes in JSON. Plain names that differ only in case have the
// same hash.
func isPlain(name []byte) bool {
	for _, c := range name {
		if c >= utf8.RuneSelf || c == '\\' {
			return false
		}
	}
	return true
}

// wordsOf returns two words: the first and the last bytes of a name, up to 8 each. Two different names of the same
// length differ in one of the words if they have up to 16 bytes.
func wordsOf(name []byte) (first, last uint64) {
	switch n := len(name); {
	case n >= 8:
		return binary.LittleEndian.Uint64(name), binary.LittleEndian.Uint64(name[n-8:])
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(name)), uint64(binary.LittleEndian.Uint32(name[n-4:]))
	case n > 0:
		return uint64(name[0]), uint64(name[n/2])<<8 | uint64(name[n-1])
	}
	return 0, 0
}

// hashWords hashes the words of a name. Names that differ only in case have the same hash.
func hashWords(first, last uint64) uint {
	const lower, odd = 0x2020202020202020, 0x9E3779B97F4A7C15
	high, low := bits.Mul64((first|lower)^bits.RotateLeft64(last|lower, 29), odd)
	return uint(high ^ low)
}
