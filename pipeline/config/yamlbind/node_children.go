package yamlbind

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/internal/nearest"
)

// maxDepth is the maximum nesting of a file.
const maxDepth = 128

// FollowAlias prepares a value for reading. If the value is an alias, FollowAlias replaces it by the node that the
// alias refers to. It reports whether the value may be read. A value with a YAML tag other than !!str may not be read,
// and no value may be read once the file is too large.
func (f *File) FollowAlias(v *Value) bool {
	if tooLarge := f.count(v, v.depth); tooLarge {
		return false
	}
	if v.Node.Kind == yaml.AliasNode {
		v.Node, v.Alias = v.Node.Alias, true
	}
	n := v.Node
	if n.Style&yaml.TaggedStyle == 0 || n.ShortTag() == "!!str" {
		return true
	}
	hint := cmp.Or(f.o.Words.Tag, "remove the tag; where text is meant, "+f.quoteHint(n.Line, n.Column))
	f.Fail(v, hint, "the YAML tag %s is not used here", n.Tag)
	return false
}

// count counts a value, and reports whether the file is too large: this value is one too many, or nested too deeply, or
// an earlier value was. Only the first such value is a problem.
func (f *File) count(v *Value, depth int) (tooLarge bool) {
	f.nodes++
	if f.isTooLarge {
		return true
	}
	f.isTooLarge = f.nodes > f.o.MaxNodes || depth > maxDepth
	f.FailIf(f.isTooLarge, v, "use fewer levels and aliases",
		"the file nests deeper than %d levels, or grows to more than %d values", maxDepth, f.o.MaxNodes)
	return f.isTooLarge
}

// Members returns the values of a mapping. It reports and leaves out three kinds of wrong members: keys that are not
// names, repeated keys, and merge keys.
func (f *File) Members(v *Value) []*Value {
	if v.Node.Kind != yaml.MappingNode {
		f.Fail(v, f.mappingHint(v), "wants a mapping, not %s", f.Describe(v.Node))
		return nil
	}
	var members []*Value
	firstLines := make(map[string]int) // by key
	for i := 0; i+1 < len(v.Node.Content); i += 2 {
		key, node := v.Node.Content[i], v.Node.Content[i+1]
		isMerge := key.Value == "<<" && key.Style == 0 && TypeOf(key) == IsText
		firstLine, isRepeated := firstLines[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode:
			f.FailAt(key.Line, key.Column, v.Field, "a key is a name, not "+f.Describe(key), f.quoteHint(key.Line, key.Column))
		case isMerge:
			f.FailAt(key.Line, key.Column, v.Field, "YAML 1.2 has no merge keys", f.o.Words.Merge)
		case isRepeated:
			f.FailKey(v.Member(key, node), "remove one of them", "the key appears twice, first in line %d", firstLine)
		default:
			firstLines[key.Value] = key.Line
			members = append(members, v.Member(key, node))
		}
	}
	return members
}

// mappingHint returns the hint for a value that should be a mapping.
func (f *File) mappingHint(v *Value) string {
	r := v.Rule
	if r == nil {
		return ""
	}
	isPlainText := v.Node.Kind == yaml.ScalarNode && plainText.MatchString(v.Node.Value)
	key := r.mainKey()
	switch {
	case isPlainText && key != "" && f.o.Words.Values:
		return "write {" + key + ": " + v.Node.Value + "}"
	case r.form != "" && r.word != "":
		return "write " + r.word + ", or " + r.form
	case r.form != "":
		return "write " + r.form
	case len(r.Keys) > 0 && len(r.Keys) <= maxListed:
		return "the keys here are " + Enumerate(r.keyNames(), "and")
	}
	return ""
}

// maxListed is the maximum number of keys that a hint about a wrong shape lists.
const maxListed = 12

// plainText matches a text that needs no quotes inside braces.
var plainText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

// mainKey returns the first key of an object that is required, or begins the first group of keys. If the file has a
// text in place of the object, it was probably meant for this key. If the key takes no text, mainKey returns "".
func (r *Rule) mainKey() string {
	if r.Shape != ObjectShape {
		return ""
	}
	i := slices.IndexFunc(r.Keys, func(k Key) bool {
		beginsGroup := len(r.groups) > 0 && k.Name == r.groups[0].keys[0]
		return k.required || beginsGroup
	})
	if i < 0 || r.Keys[i].Rule.Shape != ScalarShape || !slices.Contains(r.Keys[i].Rule.Kind.Takes, IsText) {
		return ""
	}
	return r.Keys[i].Name
}

// suggestElements returns the elements of a list that text was probably meant as, for a hint. If text consists of names
// with commas between them, each name is an element.
func (r *Rule) suggestElements(text string) string {
	elements := strings.Split(text, ",")
	for i, element := range elements {
		name := strings.TrimSpace(element)
		if !plainText.MatchString(name) {
			return r.suggestElement(text)
		}
		elements[i] = r.suggestElement(name)
	}
	return strings.Join(elements, ", ")
}

// suggestElement returns the element of a list that text was probably meant as: the most similar word if the elements
// are words, otherwise the text in quotes.
func (r *Rule) suggestElement(text string) string {
	if r == nil || r.elem == nil || r.elem.Words == nil {
		return Quoted(text)
	}
	return cmp.Or(nearest.Name(text, r.elem.Words), text)
}

// Elements returns the elements of a list. If v is no list, it notes a problem and returns nil.
func (f *File) Elements(v *Value) []*Value {
	if v.Node.Kind != yaml.SequenceNode {
		f.Fail(v, f.listHint(v), "wants a list, not %s", f.Describe(v.Node))
		return nil
	}
	elements := make([]*Value, len(v.Node.Content))
	for i := range elements {
		elements[i] = v.element(i)
	}
	return elements
}

// listHint returns the hint for a value that should be a list.
func (f *File) listHint(v *Value) string {
	if v.Node.Kind == yaml.MappingNode {
		return "begin each element with - , or write the list in [ ]"
	}
	isText := v.Node.Kind == yaml.ScalarNode && v.Node.Value != ""
	if isText && f.o.Words.Values {
		return "write [" + v.Rule.suggestElements(v.Node.Value) + "]"
	}
	return ""
}

// Known returns the members that have one of these names. It reports the others, with the hints that hint returns.
func (f *File) Known(members []*Value, names []string, hint func(name string) string) []*Value {
	var known []*Value
	for _, m := range members {
		if slices.Contains(names, m.Name) {
			known = append(known, m)
		} else {
			f.FailKey(m, hint(m.Name), "there is no such key")
		}
	}
	return known
}

// Expanded returns a copy of v's node with its aliases followed and its environment variables read.
func (f *File) Expanded(v *Value) *yaml.Node { return f.expandNode(v, v.Node, 0) }

// expandNode returns the copy for the node n inside v. Problems name the field of v.
func (f *File) expandNode(v *Value, n *yaml.Node, depth int) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	expanded := *n
	expanded.Anchor, expanded.Alias, expanded.Content = "", nil, nil
	if tooLarge := f.count(v, depth); tooLarge {
		return &expanded
	}
	switch n.Kind {
	case yaml.ScalarNode:
		f.expandScalar(v, n, &expanded)
	case yaml.MappingNode:
		mapping := &Value{Field: v.Field, Node: n}
		for _, m := range f.Members(mapping) {
			key := *m.Key
			key.Anchor = ""
			expanded.Content = append(expanded.Content, &key, f.expandNode(v, m.Node, depth+1))
		}
	default:
		for _, e := range n.Content {
			expanded.Content = append(expanded.Content, f.expandNode(v, e, depth+1))
		}
	}
	return &expanded
}

// expandScalar changes expanded, a copy of the scalar n inside v.
func (f *File) expandScalar(v *Value, n, expanded *yaml.Node) {
	parts, problems := f.expand(n.Value)
	for _, p := range problems {
		f.FailAt(n.Line, n.Column, v.Field, p.message, p.hint)
	}
	text, hasEnv := join(parts)
	switch {
	case hasEnv || text != n.Value:
		expanded.Value, expanded.Tag, expanded.Style = text, "!!str", yaml.DoubleQuotedStyle
	case n.Style == 0 && TypeOf(n) == IsText:
		expanded.Tag = "!!str" // even if YAML 1.1 would read another type, such as a date
	}
}

// Describe describes a node for a message, such as "a list".
func (f *File) Describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return f.Describe(n.Alias)
	}
	yamlType := TypeOf(n)
	switch {
	case yamlType == IsText:
		return "the text " + Quoted(n.Value)
	case yamlType == IsNull || !f.o.Words.Values:
		return yamlType.String()
	}
	return yamlType.String() + " (" + n.Value + ")"
}
