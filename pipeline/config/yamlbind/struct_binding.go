package yamlbind

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/internal/nearest"
)

// Completer is a struct whose method Made is called after its fields are bound.
type Completer interface {
	Made(f *File, v *Value)
}

// Binder is a type that reads its value from the file itself.
type Binder interface {
	Bind(f *File, v *Value)
}

// SchemaMaker is a [Binder] that returns the JSON Schema of its value, and the schema's name under $defs.
type SchemaMaker interface {
	Schema() (ref string, schema map[string]any)
}

// bind checks the value against the rule and stores it in dst. outer is the struct that contains dst. If dst is the
// zero reflect.Value, bind only checks. After a problem, the Data of the value is nil, or some of its Entries are
// missing.
func (f *File) bind(v *Value, r *Rule, dst, outer reflect.Value) {
	v.Rule = r
	if dst.IsValid() {
		dst = f.prepare(v, dst)
	}
	if !f.FollowAlias(v) {
		return
	}
	if isObject := v.Node.Kind == yaml.MappingNode && len(r.Keys) > 0; r.scalar != nil && !isObject {
		dst, r = fieldOf(dst, r.scalarField), r.scalar
		v.Rule = r
	}
	isScalar := v.Node.Kind == yaml.ScalarNode
	switch {
	case isScalar && r.word != "" && v.Node.Value == r.word:
		v.Data, v.Source = r.word, r.word
		return
	case isScalar && r.mayBeSingle: // becomes a list with one element
		v.Node = &yaml.Node{Kind: yaml.SequenceNode, Line: v.Node.Line, Column: v.Node.Column, Content: []*yaml.Node{v.Node}}
	}
	switch r.Shape {
	case ObjectShape:
		f.bindObject(v, dst, outer)
	case MapShape:
		f.bindMap(v, dst)
	case ListShape:
		f.bindList(v, dst)
	case AnyShape:
		dst.Addr().Interface().(Binder).Bind(f, v)
	default:
		f.bindScalar(v)
		v.store(dst)
	}
}

// prepare records that v is bound to the field dst, and allocates the map or the struct of the field. It returns the
// field, or the struct that the field points to.
func (f *File) prepare(v *Value, dst reflect.Value) reflect.Value {
	f.values[dst.Addr().Interface()] = v
	switch {
	case v.Rule.Shape == AnyShape:
	case dst.Kind() == reflect.Map:
		dst.Set(reflect.MakeMap(dst.Type()))
	case dst.Kind() == reflect.Pointer && v.Rule.Shape == ObjectShape:
		dst.Set(reflect.New(dst.Type().Elem()))
		dst = dst.Elem()
		f.values[dst.Addr().Interface()] = v
	}
	return dst
}

// fieldOf returns a field of the struct dst. It returns the zero reflect.Value if dst is the zero reflect.Value, or if
// field is nil.
func fieldOf(dst reflect.Value, field []int) reflect.Value {
	if !dst.IsValid() || field == nil {
		return reflect.Value{}
	}
	return dst.FieldByIndex(field)
}

// store stores the scalar in a field.
func (v *Value) store(dst reflect.Value) {
	if !dst.IsValid() {
		return
	}
	switch {
	case v.Rule.Kind.AsWritten && dst.Kind() == reflect.String:
		dst.SetString(v.Source) // even if the text is wrong
	case v.Data == nil:
	case dst.Kind() == reflect.Bool && v.Rule.Words != nil:
		dst.SetBool(v.Text() == v.Rule.trueWord)
	case dst.Kind() == reflect.Uint8: // a word
		dst.SetUint(uint64(1 + slices.Index(v.Rule.Words, v.Text())))
	default:
		dst.Set(reflect.ValueOf(v.Data).Convert(dst.Type()))
	}
}

// setDefaults fills the fields of an object with their defaults.
func (r *Rule) setDefaults(dst reflect.Value) {
	for _, k := range r.Keys {
		if k.bindsOuter {
			continue
		}
		switch field := fieldOf(dst, k.field); {
		case !field.IsValid():
		case k.Rule.defaultText != "":
			v := &Value{Rule: k.Rule, Source: k.Rule.defaultText}
			v.Data = k.Rule.Kind.Read(nil, v, nil)
			v.store(field)
		case field.Kind() == reflect.Struct && k.Rule.Shape == ObjectShape:
			k.Rule.setDefaults(field)
		}
	}
}

// bindObject binds a mapping of known keys.
func (f *File) bindObject(v *Value, dst, outer reflect.Value) {
	r := v.Rule
	r.setDefaults(dst)
	if line := fieldOf(dst, r.lineField); line.IsValid() {
		line.SetInt(int64(v.Node.Line))
	}
	members := f.Members(v)
	if v.Node.Kind != yaml.MappingNode {
		return
	}
	v.Entries = f.Known(members, r.keyNames(), func(name string) string { return r.unknownKeyHint(members, name) })
	hasUnknown := len(v.Entries) < len(members)
	for _, k := range r.Keys {
		object := dst
		if k.bindsOuter {
			object = outer
		}
		field := fieldOf(object, k.field)
		m, misspelled := v.Get(k.Name), r.misspelled(members, k.Name)
		switch {
		case m != nil:
			f.bind(m, k.Rule, field, dst)
		case misspelled != nil:
			f.bindMisspelled(v, misspelled, k, field, dst)
		case k.required:
			f.Fail(v, k.missingHint(), "the key %q is missing", k.Name)
		}
	}
	if !hasUnknown { // an unknown key is reported, and is probably one of a group
		for _, g := range r.groups {
			f.checkGroup(v, g)
		}
	}
	if !dst.IsValid() {
		return
	}
	if m, isMaker := dst.Addr().Interface().(Completer); isMaker {
		m.Made(f, v)
	}
}

// bindMisspelled binds a member of v that is probably the key k with a misspelled name. The name has a problem already,
// so problems inside the member are dropped. The member is bound nevertheless, so that other keys that refer to k cause
// no further problems.
func (f *File) bindMisspelled(v, member *Value, k Key, dst, outer reflect.Value) {
	before := len(f.Problems)
	corrected := *member
	corrected.Field, corrected.Name = Join(v.Field, k.Name), k.Name
	v.Entries = append(v.Entries, &corrected)
	f.bind(&corrected, k.Rule, dst, outer)
	f.Problems = f.Problems[:before]
}

// missingHint returns the hint for a required key that is missing.
func (k Key) missingHint() string {
	switch {
	case k.addHint != "":
		return k.addHint
	case k.form != "":
		return "add " + k.Name + ": " + k.form
	case k.Rule.Words != nil:
		return "add " + k.Name + ": " + Enumerate(k.Rule.Words, "or")
	case k.Doc != "":
		return "add it: " + strings.TrimSuffix(k.Doc, ".")
	}
	return ""
}

// checkGroup checks that exactly one of a set of keys is given, or at most one.
func (f *File) checkGroup(v *Value, g group) {
	var given []string
	for _, e := range v.Entries {
		if slices.Contains(g.keys, e.Name) {
			given = append(given, e.Name)
		}
	}
	f.FailIf(len(given) > 1, v, "keep one of them", "%s cannot be combined", Enumerate(given, "and"))
	f.FailIf(len(given) == 0 && !g.optional, v, cmp.Or(g.addHint, "add one"), "wants one of the keys %s",
		Enumerate(g.keys, "or"))
}

// unknownKeyHint returns the hint for an unknown key. The hint says to put the key under the key that it belongs to, or
// to write the most similar known key.
func (r *Rule) unknownKeyHint(members []*Value, name string) string {
	if parent := r.parentOf(name, members); parent != "" {
		return "put it under `" + parent + "`"
	}
	if r.scalar != nil && slices.Contains(r.scalar.Words, name) {
		return "write " + name + " alone"
	}
	near := r.nearestKey(name)
	if near == "" {
		return Hint(name, r.keyNames(), "the keys here are")
	}
	if value, isGlued := strings.CutPrefix(name, near+":"); isGlued {
		return "write a space after the colon: " + near + ": " + value
	}
	return "did you mean " + near + "?"
}

// parentOf returns the name of the member whose object has a key of this name, if some keys belong there. It returns ""
// if there is none.
func (r *Rule) parentOf(key string, members []*Value) string {
	if !r.hasKeysBelow {
		return ""
	}
	for _, m := range members {
		if parent, isKnown := r.key(m.Name); isKnown && slices.Contains(parent.Rule.keyNames(), key) {
			return parent.Name
		}
	}
	return ""
}

// nearestKey returns the key that an unknown name probably stands for. For example, it returns table for tabel,
// TableName and table:NAME. It returns "" if no key is similar.
func (r *Rule) nearestKey(name string) string {
	for _, key := range r.keyNames() {
		hasKeyAndColon := strings.HasPrefix(name, key+":")
		hasLongKey := len(key) > 3 && strings.HasPrefix(strings.ToLower(name), key)
		if hasKeyAndColon || hasLongKey {
			return key
		}
	}
	return nearest.Name(name, r.keyNames())
}

// misspelled returns the member whose name is probably a misspelled key, or nil if there is none.
func (r *Rule) misspelled(members []*Value, key string) *Value {
	i := slices.IndexFunc(members, func(m *Value) bool {
		_, known := r.key(m.Name)
		return !known && r.nearestKey(m.Name) == key
	})
	if i < 0 {
		return nil
	}
	return members[i]
}

// bindMap binds a mapping of the user's own names.
func (f *File) bindMap(v *Value, dst reflect.Value) {
	members := f.Members(v)
	reserve(dst, len(members))
	for _, m := range members {
		if f.o.Getenv != nil && strings.Contains(m.Name, "${") {
			f.FailKey(m, "write the name out", "the environment is not read in names")
		}
		if names := v.Rule.Name; names != nil {
			name := &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.SingleQuotedStyle, Value: m.Name, Line: m.Key.Line,
				Column: m.Key.Column}
			f.bind(&Value{Field: m.Field, Name: m.Name, Node: name, depth: m.depth}, names, reflect.Value{}, reflect.Value{})
		}
		f.bindEntry(v, m, dst)
		v.Entries = append(v.Entries, m)
	}
	f.notEmpty(v, yaml.MappingNode)
}

// bindList binds a sequence.
func (f *File) bindList(v *Value, dst reflect.Value) {
	elements := f.Elements(v)
	reserve(dst, len(elements))
	for _, e := range elements {
		f.bindEntry(v, e, dst)
		v.Entries = append(v.Entries, e)
	}
	f.notEmpty(v, yaml.SequenceNode)
}

func (f *File) notEmpty(v *Value, kind yaml.Kind) {
	f.FailIf(v.Node.Kind == kind && len(v.Node.Content) == 0 && !v.Rule.mayBeEmpty, v, "add an entry or remove the key",
		"is empty")
}

// reserve allocates the memory of all n elements of a slice at once, so that the addresses of elements never change.
// Values are found by these addresses.
func reserve(dst reflect.Value, n int) {
	if dst.IsValid() && dst.Kind() == reflect.Slice {
		dst.Set(reflect.MakeSlice(dst.Type(), 0, n))
	}
}

// bindEntry binds the entry e of v, and adds it to dst, a slice or a map. It leaves out what bindElement cannot read.
func (f *File) bindEntry(v, e *Value, dst reflect.Value) {
	switch {
	case !dst.IsValid():
		f.bind(e, v.Rule.elem, reflect.Value{}, reflect.Value{})
	case dst.Kind() == reflect.Map:
		element := reflect.New(dst.Type().Elem()).Elem()
		if f.bindElement(e, v.Rule.elem, element) {
			dst.SetMapIndex(reflect.ValueOf(e.Name), element)
		}
	default: // the element is bound in place, because values are found by the addresses of their fields
		last := dst.Len()
		dst.SetLen(last + 1)
		dst.Index(last).SetZero()
		if !f.bindElement(e, v.Rule.elem, dst.Index(last)) {
			dst.SetLen(last)
		}
	}
}

// bindElement binds e to an element of a slice or a map. It returns false if e is a scalar that cannot be read. A wrong
// text counts as read.
func (f *File) bindElement(e *Value, r *Rule, element reflect.Value) (isRead bool) {
	if name := fieldOf(element, r.nameField); name.IsValid() {
		name.SetString(e.Name)
	}
	f.bind(e, r, element, reflect.Value{})
	return e.Rule.Shape != ScalarShape || e.Data != nil || element.Kind() == reflect.String
}
