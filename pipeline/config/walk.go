package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/internal/nearest"
)

// maxNodes bounds what aliases may expand a file to.
const maxNodes = 20_000

// maxDepth bounds how deep a file may nest.
const maxDepth = 64

// checker walks a file along the grammar, fills the Config and collects what is wrong.
type checker struct {
	cfg       *Config
	places    map[any]*value // by the address of the field that holds what stands there
	lines     []string
	getenv    func(string) (string, bool)
	read      func(path string) ([]byte, error)
	problems  Problems
	warnings  Problems
	localOnly Problems
	sinks     []*Sink  // those of one kind, in the order of the file
	env       expr.Env // what expressions may name
	nodes     int
	large     bool // the file is too large, which has been said
}

// at notes a problem.
func (c *checker) at(line, column int, field, message, hint string) {
	c.problems = append(c.problems, Problem{c.cfg.File, line, column, field, message, hint})
}

// of is the place of a field of the Config, by the field's address; nil where the file leaves it out. A place is its
// own.
func (c *checker) of(at any) *value {
	if v, ok := at.(*value); ok {
		return v
	}
	return c.places[at]
}

// has tells whether the file has the field.
func (c *checker) has(at any) bool { return c.of(at) != nil }

// sound tells whether the file has the field, and the walk found nothing wrong with it.
func (c *checker) sound(at any) bool { return c.has(at) && c.of(at).data != nil }

// problem is one with a field or a place.
func (c *checker) problem(at any, hint, format string, args ...any) Problem {
	v := c.of(at)
	return Problem{c.cfg.File, v.node.Line, v.node.Column, v.field, fmt.Sprintf(format, args...), hint}
}

// fail notes what keeps the file from being used.
func (c *checker) fail(at any, hint, format string, args ...any) {
	c.problems = append(c.problems, c.problem(at, hint, format, args...))
}

// failIf fails where bad holds, and refuse where the file has the field.
func (c *checker) failIf(bad bool, at any, hint, format string, args ...any) {
	if bad {
		c.fail(at, hint, format, args...)
	}
}

func (c *checker) refuse(at any, hint, format string, args ...any) {
	c.failIf(c.has(at), at, hint, format, args...)
}

// warn notes what may surprise.
func (c *checker) warn(at any, hint, format string, args ...any) {
	c.warnings = append(c.warnings, c.problem(at, hint, format, args...))
}

// warnIf warns where it holds.
func (c *checker) warnIf(holds bool, at any, hint, format string, args ...any) {
	if holds {
		c.warn(at, hint, format, args...)
	}
}

// live notes what keeps the file from running on real servers, and not in a folder of embedded
// stores.
func (c *checker) live(at any, hint, format string, args ...any) {
	c.localOnly = append(c.localOnly, c.problem(at, hint, format, args...))
}

// liveIf does it where it holds.
func (c *checker) liveIf(holds bool, at any, hint, format string, args ...any) {
	if holds {
		c.live(at, hint, format, args...)
	}
}

// line is a line of the file, 1-based; "" where there is none.
func (c *checker) line(n int) string {
	if n < 1 || n > len(c.lines) {
		return ""
	}
	return c.lines[n-1]
}

// maker is a struct of the Config that is made of more than its fields.
type maker interface {
	made(c *checker, v *value)
}

// walk checks the node against the rule and binds it to dst. key is the node of its key in a
// mapping, nil elsewhere; outer is the struct around dst. A dst that is not valid is bound to nothing. The value is
// never nil; where something is wrong, its data or entries are missing.
func (c *checker) walk(field, name string, key, n *yaml.Node, r *rule, dst, outer reflect.Value) *value {
	v := &value{field: field, name: name, node: n, rule: r}
	if dst.IsValid() {
		c.places[dst.Addr().Interface()] = v
		switch {
		case dst.Kind() == reflect.Map:
			dst.Set(reflect.MakeMap(dst.Type()))
		case dst.Kind() == reflect.Pointer && r.shape == objectShape:
			dst.Set(reflect.New(dst.Type().Elem()))
			dst = dst.Elem()
			c.places[dst.Addr().Interface()] = v
		}
	}
	if c.tooLarge(v, strings.Count(field, ".")) {
		return v
	}
	if n.Kind == yaml.AliasNode {
		v.node = n.Alias
		n = n.Alias
	}
	if n.Style&yaml.TaggedStyle != 0 && n.ShortTag() != "!!str" {
		c.fail(v, "remove the tag; where text is meant, "+c.quoteHint(n.Line, n.Column), "the YAML tag %s is not used here", n.Tag)
		return v
	}
	if r.scalar != nil && (n.Kind != yaml.MappingNode || len(r.keys) == 0) {
		dst, r = at(dst, r.at), r.scalar
		v.rule = r
	}
	switch r.shape {
	case objectShape:
		c.object(v, dst, outer)
	case mapShape:
		c.table(v, dst)
	case listShape:
		c.list(v, dst)
	case anyShape:
		with := With{c.cfg.File, c.expanded(v, n, 0)}
		dst.Set(reflect.ValueOf(with))
		v.data = with
	default:
		c.scalar(v, key)
		v.store(dst)
	}
	return v
}

// at is a field of a struct; it is not valid where the struct is not, or no field is named.
func at(dst reflect.Value, field []int) reflect.Value {
	if !dst.IsValid() || field == nil {
		return reflect.Value{}
	}
	return dst.FieldByIndex(field)
}

// store stores the scalar in a field. A zero leaves what is there: the default.
func (v *value) store(dst reflect.Value) {
	if !dst.IsValid() {
		return
	}
	data := reflect.ValueOf(v.data)
	switch text := v.text(); {
	case v.rule.kind == kinds["path"] && dst.Kind() == reflect.String:
		dst.SetString(v.source) // also of no path
	case v.data == nil || data.IsZero():
	case dst.Kind() == reflect.Bool && v.rule.words != nil:
		dst.SetBool(text == v.rule.yes)
	case dst.Kind() == reflect.Uint8: // a word
		dst.SetUint(uint64(1 + slices.Index(v.rule.words, text)))
	default:
		dst.Set(data.Convert(dst.Type()))
	}
}

// defaults fills the fields of an object with what it means to leave them out.
func (r *rule) defaults(dst reflect.Value) {
	for _, k := range r.keys {
		if k.outer {
			continue
		}
		switch f := at(dst, k.field); {
		case !f.IsValid():
		case k.rule.def != "":
			v := &value{rule: k.rule, source: k.rule.def}
			v.data = k.rule.kind.read(nil, v, nil)
			v.store(f)
		case f.Kind() == reflect.Struct && k.rule.shape == objectShape:
			k.rule.defaults(f)
		}
	}
}

// tooLarge counts a value, and tells whether the walk ends here. It says so once:
// what comes behind it is not looked at.
func (c *checker) tooLarge(v *value, depth int) bool {
	if c.nodes++; c.nodes <= maxNodes && depth <= maxDepth {
		return false
	}
	if !c.large {
		c.large = true
		c.nodes = maxNodes
		c.fail(v, "use fewer levels and aliases", "the file nests deeper than %d levels, or grows to more than %d values", maxDepth, maxNodes)
	}
	return true
}

// pairs reads a mapping's keys: each a name, none twice, none a merge.
func (c *checker) pairs(v *value) (keys, values []*yaml.Node) {
	if v.node.Kind != yaml.MappingNode {
		c.fail(v, "", "wants a mapping, not %s", c.found(v.node))
		return nil, nil
	}
	first := make(map[string]int)
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		k := v.node.Content[i]
		line, twice := first[k.Value]
		switch {
		case k.Kind != yaml.ScalarNode:
			c.at(k.Line, k.Column, v.field, "a key is a name, not "+c.found(k), c.quoteHint(k.Line, k.Column))
		case k.Value == "<<" && resolve(k) == isText && k.Style == 0:
			c.at(k.Line, k.Column, v.field, "YAML 1.2 has no merge keys", "write the keys out, or use an alias for a whole value")
		case twice:
			c.at(k.Line, k.Column, join2(v.field, k.Value), fmt.Sprintf("the key stands twice, first in line %d", line), "remove one of them")
		default:
			first[k.Value] = k.Line
			keys, values = append(keys, k), append(values, v.node.Content[i+1])
		}
	}
	return keys, values
}

// object checks a mapping of known keys.
func (c *checker) object(v *value, dst, outer reflect.Value) {
	if v.rule.defaults(dst); dst.IsValid() && v.rule.line != nil {
		at(dst, v.rule.line).SetInt(int64(v.node.Line))
	}
	keys, values := c.pairs(v)
	if v.node.Kind != yaml.MappingNode {
		return
	}
	stands := make(map[string]int, len(keys))
	for i, k := range keys {
		stands[k.Value] = i
		if _, known := v.rule.key(k.Value); !known {
			c.unknown(v, k)
		}
	}
	for _, k := range v.rule.keys {
		i, is := stands[k.name]
		if !is {
			if k.required {
				c.fail(v, "add it: "+strings.TrimSuffix(k.doc, "."), "the key %q is missing", k.name)
			}
			continue
		}
		to := dst
		if k.outer {
			to = outer
		}
		v.entries = append(v.entries, c.walk(join2(v.field, k.name), k.name, keys[i], values[i], k.rule, at(to, k.field), dst))
		if v.field == "" && k.name == "attributes" {
			c.env.Attributes = c.cfg.Attributes // what follows is checked by them
		}
	}
	slices.SortStableFunc(v.entries, func(a, b *value) int { return stands[a.name] - stands[b.name] })
	for _, g := range v.rule.groups {
		var have []string
		for _, k := range keys {
			if slices.Contains(g.keys, k.Value) {
				have = append(have, k.Value)
			}
		}
		switch {
		case len(have) > 1:
			c.fail(v, "keep one of them", "%s cannot stand together", enumerate(have, "and"))
		case len(have) == 0 && !g.optional:
			c.fail(v, "add one", "wants one of the keys %s", enumerate(g.keys, "or"))
		}
	}
	if dst.IsValid() {
		if m, is := dst.Addr().Interface().(maker); is {
			m.made(c, v)
		}
	}
}

// unknown reports a key that the grammar does not have.
func (c *checker) unknown(v *value, k *yaml.Node) {
	c.at(k.Line, k.Column, join2(v.field, k.Value), "there is no such key", c.nested(v, k.Value))
}

// nested is a hint for a key that stands too high: beside the only key under which it
// may stand. Else it is the key that is nearest.
func (c *checker) nested(v *value, name string) string {
	if v.rule.ref != "sink" || v.node.Kind != yaml.MappingNode {
		return Hint(name, v.rule.keyNames(), "the keys here are")
	}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		kind, known := v.rule.key(v.node.Content[i].Value)
		if !known {
			continue
		}
		if _, below := kind.rule.key(name); below {
			return "put it under `" + kind.name + "`"
		}
	}
	return Hint(name, v.rule.keyNames(), "the keys here are")
}

// Hint is the hint of a [Problem] about a name that is not known: "did you mean
// x?" where one of the names is near, else all of them behind the words of all, as
// "the keys here are".
func Hint(got string, names []string, all string) string {
	if near := nearest.Name(got, names); near != "" {
		return "did you mean " + near + "?"
	}
	if len(names) == 0 {
		return all + " none"
	}
	return all + " " + enumerate(names, "and")
}

// table checks a mapping of the user's own names.
func (c *checker) table(v *value, dst reflect.Value) {
	keys, values := c.pairs(v)
	room(dst, len(keys))
	for i, k := range keys {
		field := join2(v.field, k.Value)
		if strings.Contains(k.Value, "${") {
			c.at(k.Line, k.Column, field, "the environment is not read in names", "write the name out")
		}
		if names := v.rule.name; names != nil {
			name := &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.SingleQuotedStyle, Value: k.Value, Line: k.Line, Column: k.Column}
			c.walk(field, k.Value, nil, name, names, reflect.Value{}, reflect.Value{})
		}
		c.element(v, field, k.Value, k, values[i], dst)
	}
	c.notEmpty(v, yaml.MappingNode)
}

// list checks a sequence.
func (c *checker) list(v *value, dst reflect.Value) {
	if v.node.Kind != yaml.SequenceNode {
		hint := ""
		if v.node.Kind == yaml.ScalarNode && v.node.Value != "" {
			hint = "write [" + quoted(v.node.Value) + "]"
		}
		c.fail(v, hint, "wants a list, not %s", c.found(v.node))
		return
	}
	room(dst, len(v.node.Content))
	for i, n := range v.node.Content {
		c.element(v, fmt.Sprintf("%s[%d]", v.field, i), strconv.Itoa(i), nil, n, dst)
	}
	c.notEmpty(v, yaml.SequenceNode)
}

func (c *checker) notEmpty(v *value, kind yaml.Kind) {
	if v.node.Kind == kind && len(v.node.Content) == 0 {
		c.fail(v, "add an entry or remove the key", "is empty")
	}
}

// room makes room for n elements, whose addresses stay.
func room(dst reflect.Value, n int) {
	if dst.IsValid() && dst.Kind() == reflect.Slice {
		dst.Set(reflect.MakeSlice(dst.Type(), 0, n))
	}
}

// element walks an element of v into the next place of a slice, or into a map. What nothing could be made of is left
// out, except texts.
func (c *checker) element(v *value, field, name string, key, n *yaml.Node, dst reflect.Value) {
	var to reflect.Value
	switch {
	case !dst.IsValid():
	case dst.Kind() == reflect.Map:
		to = reflect.New(dst.Type().Elem()).Elem()
	default:
		dst.SetLen(dst.Len() + 1)
		to = dst.Index(dst.Len() - 1)
		to.SetZero()
	}
	if f := at(to, v.rule.elem.named); f.IsValid() {
		f.SetString(name)
	}
	e := c.walk(field, name, key, n, v.rule.elem, to, reflect.Value{})
	v.entries = append(v.entries, e)
	sound := e.rule.shape != scalarShape || e.data != nil || to.IsValid() && to.Kind() == reflect.String
	switch {
	case !dst.IsValid():
	case dst.Kind() == reflect.Map && sound:
		dst.SetMapIndex(reflect.ValueOf(name), to)
	case dst.Kind() == reflect.Slice && !sound:
		dst.SetLen(dst.Len() - 1)
	}
}

// expanded is a copy of n with its aliases followed and its environment read.
func (c *checker) expanded(v *value, n *yaml.Node, depth int) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	out := *n
	out.Anchor, out.Alias, out.Content = "", nil, nil
	if c.tooLarge(v, depth) {
		return &out
	}
	switch n.Kind {
	case yaml.ScalarNode:
		parts, bad := expand(n.Value, c.getenv)
		for _, b := range bad {
			c.at(n.Line, n.Column, v.field, b[0], b[1])
		}
		var env bool
		if out.Value, env = join(parts); env || out.Value != n.Value {
			out.Tag, out.Style = "!!str", yaml.DoubleQuotedStyle
		} else if out.Style == 0 && resolve(n) == isText {
			out.Tag = "!!str" // also where YAML 1.1 sees more: 2006-01-02
		}
	case yaml.MappingNode:
		m := &value{field: v.field, node: n}
		keys, values := c.pairs(m)
		for i := range keys {
			k := *keys[i]
			k.Anchor = ""
			out.Content = append(out.Content, &k, c.expanded(v, values[i], depth+1))
		}
	default:
		for _, e := range n.Content {
			out.Content = append(out.Content, c.expanded(v, e, depth+1))
		}
	}
	return &out
}

// found names what stands at a node.
func (c *checker) found(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return c.found(n.Alias)
	default:
		switch r := resolve(n); r {
		case isNull:
			return "nothing"
		case isText:
			return "the text " + quoted(n.Value)
		default:
			return r.String() + " (" + n.Value + ")"
		}
	}
}

// join2 is a field below a field.
func join2(field, name string) string {
	if strings.ContainsAny(name, ".[] ") {
		name = `["` + name + `"]`
		return field + name
	}
	if field == "" {
		return name
	}
	return field + "." + name
}

// enumerate is "a, b and c".
func enumerate(names []string, last string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}
