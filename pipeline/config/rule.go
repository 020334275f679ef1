package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// shape is what may stand at a place of the file.
type shape uint8

const (
	scalarShape shape = iota
	objectShape       // known keys
	mapShape          // names of the user's own
	listShape         // not empty
	anyShape          // whatever the user's own code wants
)

// rule describes one place of the file. It is made of a Go type and its tags; the walk, the JSON Schema and the
// settings read it.
type rule struct {
	shape   shape
	ref     string // name under $defs, for a rule that is used in several places
	kind    *kind  // of a scalar
	words   []string
	yes     string  // the word for which a bool is true
	most    int64   // integers: largest; 0: any
	def     string  // value of a field that the file leaves out, as it would be written
	each    bool    // templates: {each.path} is allowed
	keys    []key   // of an object
	groups  []group // of an object
	line    []int   // of an object: the field that takes its line
	scalar  *rule   // of an object: what a scalar may be in its place; nil: no scalar
	at      []int   // field of that scalar
	name    *rule   // of a map, or of an object in one: its name; nil: any text
	named   []int   // field of that name; nil: the object stands in no map
	elem    *rule   // of lists and maps
	ordered bool    // of a map: the order of names means something
}

// key is one key of an object.
type key struct {
	name     string
	rule     *rule
	doc      string // one sentence, for the schema
	def      string // what a missing key means, as it would be written
	required bool
	apart    bool  // no setting of the sink: it does not shape its output, or by what it does to others
	outer    bool  // bound to the struct around the one that the key stands in
	field    []int // nil: bound to no field
}

// group is a set of keys of which one stands, or at most one.
type group struct {
	keys     []string
	optional bool // none is fine too
}

// grammar is the rule of the file.
var grammar = sync.OnceValue(func() *rule { return make(rules).of(reflect.TypeFor[Config](), "") })

// rules are those of structs, which may contain themselves.
type rules map[reflect.Type]*rule

// of makes the rule of a field's type. These tags describe what stands there:
//
//	key:"NAME,OPTION,..."  the key; "*" is the name of a map's entry, "=" a scalar in place of a mapping, "@" the line,
//	                       "+" the keys of another struct
//	doc:"..." def:"..."    its sentence in the schema, and what a missing key means
//	is:"KIND"              how the scalar is written, where the type does not say it
//	words:"a,b" yes:"b"    the words that it may be, and the one for which a bool is true
//	max:"256"              the largest integer
//	ref:"NAME"             its name under $defs
//	below:"KEY,..."        the key stands in the objects of these keys
//	one:"a,b" most:"a,b"   of a blank field: one of the keys stands, or at most one
//
// The options are required, apart, ordered (of a map), each (of templates) and late (whoever reads the Config
// applies the default).
func (rs rules) of(t reflect.Type, tag reflect.StructTag) *rule {
	_, options, _ := strings.Cut(tag.Get("key"), ",")
	if k := kindOf(t, tag); k != nil {
		r := &rule{kind: k, ref: k.ref, yes: tag.Get("yes"), each: strings.Contains(options, "each")}
		if words := tag.Get("words"); words != "" {
			r.words = strings.Split(words, ",")
		}
		if r.most, _ = strconv.ParseInt(tag.Get("max"), 10, 64); !strings.Contains(options, "late") {
			r.def = tag.Get("def")
		}
		return r
	}
	switch {
	case t == reflect.TypeFor[With]():
		return &rule{shape: anyShape}
	case t.Kind() == reflect.Pointer:
		return rs.of(t.Elem(), tag)
	case t.Kind() == reflect.Struct:
		return rs.object(t)
	}
	elem := rs.of(t.Elem(), tag)
	r := &rule{shape: listShape, ref: tag.Get("ref"), elem: elem, ordered: strings.Contains(options, "ordered")}
	if t.Kind() == reflect.Map || elem.named != nil {
		r.shape, r.name = mapShape, elem.name
	}
	if names := tag.Get("names"); names != "" {
		r.name = &rule{kind: kinds[names]}
	}
	if strings.Contains(options, "each") {
		whole, scalar := *elem, *elem.scalar
		scalar.each, whole.scalar = true, &scalar
		r.elem = &whole
	}
	return r
}

func (rs rules) object(t reflect.Type) *rule {
	r := rs[t]
	if r == nil {
		r = &rule{shape: objectShape}
		rs[t] = r
		rs.fields(r, t)
	}
	return r
}

func (rs rules) fields(r *rule, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		if r.ref == "" && f.Name == "_" {
			r.ref = f.Tag.Get("ref")
		}
		for _, of := range []string{"one", "most"} {
			if keys := f.Tag.Get(of); keys != "" {
				r.groups = append(r.groups, group{strings.Split(keys, ","), of == "most"})
			}
		}
		name, options, _ := strings.Cut(f.Tag.Get("key"), ",")
		switch name {
		case "":
		case "+":
			rs.fields(r, f.Type)
		case "@":
			r.line = f.Index
		case "=":
			if r.scalar = rs.of(f.Type, f.Tag); f.Name != "_" {
				r.at = f.Index
			}
		case "*":
			if r.named = f.Index; f.Tag.Get("is") != "" {
				r.name = rs.of(f.Type, f.Tag)
			}
		default:
			k := key{name: name, rule: rs.of(f.Type, f.Tag), doc: f.Tag.Get("doc"), def: f.Tag.Get("def")}
			k.required, k.apart = strings.Contains(options, "required"), strings.Contains(options, "apart")
			if f.Name != "_" {
				k.field = f.Index
			}
			r.add(k, f.Tag.Get("below"))
		}
	}
}

// add adds a key, to the objects of the keys that below names where it names some.
func (r *rule) add(k key, below string) {
	if below == "" {
		r.keys = append(r.keys, k)
		return
	}
	k.outer = true
	for _, of := range r.keys {
		if slices.Contains(strings.Split(below, ","), of.name) {
			of.rule.keys = append(of.rule.keys, k)
		}
	}
}

// key finds an object's key by name.
func (r *rule) key(name string) (key, bool) {
	i := slices.IndexFunc(r.keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return key{}, false
	}
	return r.keys[i], true
}

func (r *rule) keyNames() []string {
	names := make([]string, len(r.keys))
	for i, k := range r.keys {
		names[i] = k.name
	}
	return names
}
