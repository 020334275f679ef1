package yamlbind

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Shape is the form of a value in the file.
type Shape uint8

// The shapes.
const (
	ScalarShape Shape = iota
	ObjectShape       // known keys
	MapShape          // keys that the user chooses
	ListShape         // a list
	AnyShape          // a [Binder] reads it
)

// Rule describes one value of the file. [RuleOf] makes it from a Go type and its tags. The reading of files, the JSON
// Schema and the comparison of files use it.
type Rule struct {
	Shape   Shape
	Kind    *Kind    // kind of a scalar
	Words   []string // allowed words of a scalar; nil if any text is allowed
	Keys    []Key    // keys of an object
	Name    *Rule    // rule of a map's names; nil if any text is allowed
	Ordered bool     // the order of a map's entries counts
	Each    bool     // {each.path} is allowed in a template
	Shard   bool     // {@shard} is allowed in a template

	ref          string // name under $defs, if the rule is used in several places
	trueWord     string // word for which a bool is true
	max          int64  // largest allowed integer; 0 if there is no limit
	defaultText  string // default of a field, as the file would spell it
	groups       []group
	hasKeysBelow bool           // some keys of the object are written inside the objects of other keys
	lineField    []int          // index of the field for the object's line
	scalar       *Rule          // scalar that may replace the object; nil if there is none
	scalarField  []int          // index of the field for this scalar
	nameField    []int          // index of the field for the object's name in a map; nil if there is none
	elem         *Rule          // rule of an entry of a list or a map
	mayBeEmpty   bool           // the list or map may be empty
	mayBeSingle  bool           // an entry alone counts as a list with one entry
	word         string         // word that may replace the map; "" if there is none
	form         string         // form of a map, for hints
	object       *Rule          // object that the scalar may replace
	schema       map[string]any // schema of AnyShape; nil if any value is allowed
}

// Key is one key of an object.
type Key struct {
	Name  string
	Rule  *Rule
	Doc   string // one sentence, for the schema
	Def   string // default, as the file would spell it
	Apart bool   // not part of the fingerprint, because it does not shape the output directly

	addHint    string // hint if the key is required and missing
	form       string // form of its value, for hints
	required   bool
	bindsOuter bool  // the field is not in the struct of the key's object, but in the struct around it
	field      []int // index of its field; nil if it is not bound to a field
}

// group is a set of keys. The file must have exactly one of them, or at most one.
type group struct {
	keys     []string
	optional bool   // the file may have none of them
	addHint  string // hint if the file has none of them
}

// RuleOf returns the rule of a type. Its scalars can have the kinds that every file has, and the kinds in kinds.
func RuleOf(t reflect.Type, kinds Kinds) *Rule {
	rs := rules{Kinds{maps.Clone(basic.Named), maps.Clone(basic.Types)}, make(map[reflect.Type]*Rule)}
	maps.Copy(rs.kinds.Named, kinds.Named)
	maps.Copy(rs.kinds.Types, kinds.Types)
	return rs.ruleOf(t, "")
}

// rules makes rules. byType keeps the rules of structs, because a struct may contain itself.
type rules struct {
	kinds  Kinds
	byType map[reflect.Type]*Rule
}

// ruleOf makes the rule of a field's type. The tags of the field are:
//
//	key:"NAME,OPTION,..."  the key; "*" is the name of a map's entry, "=" a scalar that replaces a mapping, "@" the line,
//	                       "+" the keys of another struct
//	doc:"..." def:"..."    the key's sentence in the schema, and its default
//	is:"KIND"              the kind of a scalar, if not that of the Go type
//	words:"a,b" yes:"b"    the allowed words, and the word for which a bool is true
//	max:"256"              the largest integer
//	form:"..."             the form of the value, for the hint if it is missing, or is not a mapping
//	add:"..."              the hint if a required key, or every key of a group, is missing. Default: form, words or doc
//	ref:"NAME"             the name under $defs, which a struct that contains itself needs
//	below:"KEY,..."        the key is written inside the objects of these keys
//	names:"KIND"           of a map: the kind of its names
//	or:"WORD"              of a map: the word that may replace the map; the word is then the data of the value
//	one:"a,b" most:"a,b"   of a blank field: the file has exactly one of these keys, or at most one
//
// The options of a key are:
//
//	required     the file must have the key
//	apart        the key has no direct effect on the output: it is not part of the fingerprint
//	late         the field stays zero if the file lacks the key; the code that uses the field applies the default
//	ordered      of a map: the order of its entries counts
//	empty        of a list or a map: it may be empty
//	single       of a list: an entry alone counts as a list with one entry
//	first        of a key below others: it is read before their keys
//	each, shard  of a template: {each.path}, {@shard} are allowed
func (rs rules) ruleOf(t reflect.Type, tag reflect.StructTag) *Rule {
	switch kind := rs.kinds.kindOf(t, tag); {
	case kind != nil:
		return scalarRule(kind, tag)
	case reflect.PointerTo(t).Implements(reflect.TypeFor[Binder]()):
		r := &Rule{Shape: AnyShape}
		if d, ok := reflect.New(t).Interface().(SchemaMaker); ok {
			r.ref, r.schema = d.Schema()
		}
		return r
	case t.Kind() == reflect.Pointer:
		return rs.ruleOf(t.Elem(), tag)
	case t.Kind() == reflect.Struct:
		return rs.objectRule(t)
	}
	return rs.collectionRule(t, tag)
}

// hasOption reports whether the key of a field has an option.
func hasOption(tag reflect.StructTag, option string) bool {
	_, options, _ := strings.Cut(tag.Get("key"), ",")
	return strings.Contains(options, option)
}

func scalarRule(kind *Kind, tag reflect.StructTag) *Rule {
	r := &Rule{Kind: kind, ref: kind.Ref, trueWord: tag.Get("yes"), Each: hasOption(tag, "each"),
		Shard: hasOption(tag, "shard")}
	if words := tag.Get("words"); words != "" {
		r.Words = strings.Split(words, ",")
	}
	r.max, _ = strconv.ParseInt(tag.Get("max"), 10, 64)
	if !hasOption(tag, "late") {
		r.defaultText = tag.Get("def")
	}
	return r
}

// collectionRule makes the rule of a slice or a map.
func (rs rules) collectionRule(t reflect.Type, tag reflect.StructTag) *Rule {
	elem := rs.ruleOf(t.Elem(), tag)
	r := &Rule{Shape: ListShape, ref: tag.Get("ref"), elem: elem, Ordered: hasOption(tag, "ordered"),
		mayBeEmpty: hasOption(tag, "empty"), mayBeSingle: hasOption(tag, "single"), word: tag.Get("or")}
	if t.Kind() == reflect.Map || elem.nameField != nil {
		r.Shape, r.Name = MapShape, elem.Name
	}
	if names := tag.Get("names"); names != "" {
		r.Name = &Rule{Kind: rs.kinds.Named[names]}
	}
	if hasOption(tag, "each") || hasOption(tag, "shard") { // other collections share elem, so it is copied
		copied, scalar := *elem, *elem.scalar
		scalar.Each, scalar.Shard = hasOption(tag, "each"), hasOption(tag, "shard")
		copied.scalar = &scalar
		r.elem = &copied
	}
	return r
}

func (rs rules) objectRule(t reflect.Type) *Rule {
	r := rs.byType[t]
	if r == nil {
		r = &Rule{Shape: ObjectShape}
		rs.byType[t] = r
		rs.addFields(r, t)
	}
	return r
}

func (rs rules) addFields(r *Rule, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		if r.ref == "" && f.Name == "_" {
			r.ref = f.Tag.Get("ref")
		}
		r.addGroup(f.Tag, "one")
		r.addGroup(f.Tag, "most")
		name, _, _ := strings.Cut(f.Tag.Get("key"), ",")
		switch name {
		case "":
		case "+":
			rs.addFields(r, f.Type)
		case "@":
			r.lineField = f.Index
		case "=":
			r.scalar = rs.ruleOf(f.Type, f.Tag)
			r.scalar.object = r
			if f.Name != "_" {
				r.scalarField = f.Index
			}
		case "*":
			r.nameField = f.Index
			if f.Tag.Get("is") != "" {
				r.Name = rs.ruleOf(f.Type, f.Tag)
			}
		default:
			r.addKey(rs.keyOf(f, name), f.Tag)
		}
	}
}

// addGroup adds the group of keys in a tag, if there is one: "one", or "most" for at most one.
func (r *Rule) addGroup(tag reflect.StructTag, name string) {
	if keys := tag.Get(name); keys != "" {
		r.groups = append(r.groups,
			group{keys: strings.Split(keys, ","), addHint: tag.Get("add"), optional: name == "most"})
	}
}

// addKey adds a key to the object r, or to the objects that its tag names.
func (r *Rule) addKey(k Key, tag reflect.StructTag) {
	if below := tag.Get("below"); below != "" {
		r.addBelow(k, strings.Split(below, ","), tag)
	} else {
		r.Keys = append(r.Keys, k)
	}
}

// keyOf makes the key that a field describes.
func (rs rules) keyOf(f reflect.StructField, name string) Key {
	k := Key{Name: name, Rule: rs.ruleOf(f.Type, f.Tag), Doc: f.Tag.Get("doc"), Def: f.Tag.Get("def"),
		Apart: hasOption(f.Tag, "apart"), required: hasOption(f.Tag, "required"),
		addHint: f.Tag.Get("add"), form: f.Tag.Get("form")}
	if k.Rule.Shape == MapShape {
		k.Rule.form = k.form
	}
	if f.Name != "_" {
		k.field = f.Index
	}
	return k
}

// addBelow adds a key of the object r to the objects of other keys of r. It adds the key after their own keys, or
// before them if the key has the option first.
func (r *Rule) addBelow(k Key, parents []string, tag reflect.StructTag) {
	k.bindsOuter, r.hasKeysBelow = true, true
	for _, parent := range r.Keys {
		if !slices.Contains(parents, parent.Name) {
			continue
		}
		position := len(parent.Rule.Keys)
		if hasOption(tag, "first") {
			position = 0
		}
		parent.Rule.Keys = slices.Insert(parent.Rule.Keys, position, k)
	}
}

// key returns the key called name of an object. It returns false if there is none.
func (r *Rule) key(name string) (Key, bool) {
	i := slices.IndexFunc(r.Keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return r.Keys[i], true
}

func (r *Rule) keyNames() []string {
	names := make([]string, len(r.Keys))
	for i, k := range r.Keys {
		names[i] = k.Name
	}
	return names
}
