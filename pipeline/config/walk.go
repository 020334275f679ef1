package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/expr"
	"github.com/tablewake/tablewake/pipeline/internal/nearest"
)

// maxNodes bounds what aliases may expand a file to.
const maxNodes = 20_000

// maxDepth bounds how deep a file may nest.
const maxDepth = 64

// checker walks a file along the grammar and collects what is wrong.
type checker struct {
	file      string
	lines     []string
	getenv    func(string) (string, bool)
	read      func(path string) ([]byte, error)
	problems  Problems
	warnings  Problems
	localOnly Problems
	env       expr.Env // what expressions may name
	nodes     int
	large     bool // the file is too large, which has been said
}

// at notes a problem.
func (c *checker) at(line, column int, field, message, hint string) {
	c.problems = append(c.problems, Problem{c.file, line, column, field, message, hint})
}

// fail notes a problem with a value.
func (c *checker) fail(v *value, hint, format string, args ...any) {
	c.at(v.node.Line, v.node.Column, v.field, fmt.Sprintf(format, args...), hint)
}

// warn notes a warning about a value.
func (c *checker) warn(v *value, hint, format string, args ...any) {
	c.warnings = append(c.warnings, Problem{c.file, v.node.Line, v.node.Column, v.field, fmt.Sprintf(format, args...), hint})
}

// line is a line of the file, 1-based; "" where there is none.
func (c *checker) line(n int) string {
	if n < 1 || n > len(c.lines) {
		return ""
	}
	return c.lines[n-1]
}

// walk checks the node against the rule. key is the node of its key in a
// mapping, nil elsewhere. The value is never nil; where something is wrong, its
// data or entries are missing.
func (c *checker) walk(field, name string, key, n *yaml.Node, r *rule) *value {
	v := &value{field: field, name: name, node: n, rule: r}
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
	if r.shape == eitherShape {
		r = r.scalar
		if n.Kind == yaml.MappingNode {
			r = v.rule.object
		}
		v.rule = r
	}
	switch r.shape {
	case objectShape:
		c.object(v)
	case mapShape:
		c.table(v)
	case listShape:
		c.list(v)
	case anyShape:
		c.anything(v)
	default:
		c.scalar(v, key)
	}
	return v
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
func (c *checker) object(v *value) {
	keys, values := c.pairs(v)
	if v.node.Kind != yaml.MappingNode {
		return
	}
	at := make(map[string]int, len(keys))
	for i, k := range keys {
		at[k.Value] = i
		if _, known := v.rule.key(k.Value); !known {
			c.unknown(v, k)
		}
	}
	for _, k := range v.rule.keys {
		i, stands := at[k.name]
		if !stands {
			if k.required {
				c.fail(v, "add it: "+strings.TrimSuffix(k.doc, "."), "the key %q is missing", k.name)
			}
			continue
		}
		v.entries = append(v.entries, c.entry(v, k, keys[i], values[i]))
	}
	slices.SortStableFunc(v.entries, func(a, b *value) int { return at[a.name] - at[b.name] })
	for _, g := range v.rule.oneOf {
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
}

// entry checks what stands under a known key.
func (c *checker) entry(v *value, k key, name, n *yaml.Node) *value {
	field := join2(v.field, k.name)
	e := c.walk(field, k.name, name, n, k.rule)
	if field == "attributes" {
		c.env.Attributes = kinds(e)
	}
	return e
}

// unknown reports a key that the grammar does not have.
func (c *checker) unknown(v *value, k *yaml.Node) {
	c.at(k.Line, k.Column, join2(v.field, k.Value), "there is no such key", c.nested(v, k.Value))
}

// nested is a hint for a key that stands too high: beside the only key under which it
// may stand. Else it is the key that is nearest.
func (c *checker) nested(v *value, name string) string {
	if v.rule.ref != "sink" || v.node.Kind != yaml.MappingNode {
		return meant(name, v.rule.keyNames(), "the keys here are")
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
	return meant(name, v.rule.keyNames(), "the keys here are")
}

// meant is the name nearest to got as a hint, or all the names where none is near.
func meant(got string, names []string, all string) string {
	if near := nearest.Name(got, names); near != "" {
		return "did you mean " + near + "?"
	}
	if len(names) == 0 {
		return all + " none"
	}
	return all + " " + enumerate(names, "and")
}

// table checks a mapping of the user's own names.
func (c *checker) table(v *value) {
	keys, values := c.pairs(v)
	for i, k := range keys {
		field := join2(v.field, k.Value)
		if strings.Contains(k.Value, "${") {
			c.at(k.Line, k.Column, field, "the environment is not read in names", "write the name out")
		}
		if v.rule.names != nil {
			c.walk(field, k.Value, nil, &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.SingleQuotedStyle, Value: k.Value, Line: k.Line, Column: k.Column}, v.rule.names)
		}
		v.entries = append(v.entries, c.walk(field, k.Value, k, values[i], v.rule.elem))
	}
	if v.node.Kind == yaml.MappingNode && len(v.node.Content) == 0 {
		c.fail(v, "add an entry or remove the key", "is empty")
	}
}

// list checks a sequence.
func (c *checker) list(v *value) {
	if v.node.Kind != yaml.SequenceNode {
		hint := ""
		if v.node.Kind == yaml.ScalarNode && v.node.Value != "" {
			hint = "write [" + quoted(v.node.Value) + "]"
		}
		c.fail(v, hint, "wants a list, not %s", c.found(v.node))
		return
	}
	for i, n := range v.node.Content {
		v.entries = append(v.entries, c.walk(fmt.Sprintf("%s[%d]", v.field, i), fmt.Sprint(i), nil, n, v.rule.elem))
	}
	if len(v.node.Content) == 0 {
		c.fail(v, "add an entry or remove the key", "is empty")
	}
}

// anything expands the environment in what the user's own code reads.
func (c *checker) anything(v *value) {
	v.data = c.expanded(v, v.node, 0)
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
		if out.Value = join(parts); hasEnv(parts) || out.Value != n.Value {
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
