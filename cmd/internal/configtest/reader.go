package configtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
)

// maxNodes bounds what the aliases of a file may expand it to.
const maxNodes = 1_000_000

// reader reads a file of tests as strictly as a configuration, and collects what
// is wrong with it.
type reader struct {
	file     string
	problems config.Problems
	nodes    int
}

// fail notes a problem at a node. field is its place, as tests[0].given.
func (r *reader) fail(n *yaml.Node, field, hint, format string, args ...any) {
	r.problems = append(r.problems, config.Problem{
		File: r.file, Line: max(n.Line, 1), Column: max(n.Column, 1), Field: field, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// document is the one document of a file, or nil with a problem.
func (r *reader) document(b []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	if err == nil {
		err = dec.Decode(&second)
		if err == nil {
			r.fail(&second, "", "put it into a file of its own", "a second YAML document begins here")
			return nil
		}
		if errors.Is(err, io.EOF) {
			return doc.Content[0]
		}
	}
	if errors.Is(err, io.EOF) {
		r.fail(&doc, "", "begin with `keys: [PK, SK]` and `tests:`", "the file is empty")
		return nil
	}
	at := &yaml.Node{}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		at.Line, _ = strconv.Atoi("0" + m[1])
	}
	r.fail(at, "", "", "not YAML: %s", yamlLine.ReplaceAllString(err.Error(), ""))
	return nil
}

// entry is one key of a mapping with what stands under it.
type entry struct {
	name       string
	field      string
	key, value *yaml.Node
}

// follow is what an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// sound counts a node, and checks what is wrong with it anywhere.
func (r *reader) sound(n *yaml.Node, field string) bool {
	if r.nodes++; r.nodes > maxNodes {
		if r.nodes == maxNodes+1 {
			r.fail(n, field, "use fewer aliases", "the file grows to more than %d values", maxNodes)
		}
		return false
	}
	if n.Style&yaml.TaggedStyle != 0 && n.ShortTag() != "!!str" {
		r.fail(n, field, "a type is written as DynamoDB JSON with a $: {$B: aGk=}, {$SS: [a, b]}", "the YAML tag %s is not used here", n.Tag)
		return false
	}
	return true
}

// entries reads a mapping, each of whose keys is a name that stands once. What is
// wrong with it is noted, and left out.
func (r *reader) entries(n *yaml.Node, field string) []entry {
	n = follow(n)
	if !r.sound(n, field) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n, field, "", "wants a mapping, not %s", found(n))
		return nil
	}
	var es []entry
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		name, sub := k.Value, join(field, k.Value)
		switch {
		case k.Kind != yaml.ScalarNode:
			r.fail(k, field, "quote it", "a key is a name, not %s", found(k))
		case name == "<<" && k.Style == 0:
			r.fail(k, field, "use an alias for a whole value", "YAML 1.2 has no merge keys")
		case lines[name] > 0:
			r.fail(k, sub, "remove one of them", "the key stands twice, first in line %d", lines[name])
		default:
			lines[name] = k.Line
			es = append(es, entry{name, sub, k, v})
		}
	}
	return es
}

// object reads a mapping of known keys, by their names.
func (r *reader) object(n *yaml.Node, field string, known ...string) map[string]entry {
	out := make(map[string]entry)
	for _, e := range r.entries(n, field) {
		if !slices.Contains(known, e.name) {
			r.fail(e.key, e.field, config.Hint(e.name, known, "the keys here are"), "there is no such key")
			continue
		}
		out[e.name] = e
	}
	return out
}

// items reads a list.
func (r *reader) items(n *yaml.Node, field string) []entry {
	n = follow(n)
	if !r.sound(n, field) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.fail(n, field, "", "wants a list, not %s", found(n))
		return nil
	}
	es := make([]entry, len(n.Content))
	for i, v := range n.Content {
		es[i] = entry{"", fmt.Sprintf("%s[%d]", field, i), v, v}
	}
	return es
}

// word reads a text; ok is false, with a problem, where there is none.
func (r *reader) word(e entry) (s string, ok bool) {
	n := follow(e.value)
	if !r.sound(n, e.field) {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || kindOf(n) != pipeline.KindS || n.Value == "" {
		hint := ""
		if n.Kind == yaml.ScalarNode && n.Value != "" {
			hint = "quote it: " + singleQuoted(n.Value)
		}
		r.fail(n, e.field, hint, "wants text, not %s", found(n))
		return "", false
	}
	return n.Value, true
}

// flag reads true or false.
func (r *reader) flag(e entry) bool {
	n := follow(e.value)
	if n.Kind != yaml.ScalarNode || kindOf(n) != pipeline.KindBOOL {
		r.fail(n, e.field, "", "wants true or false, not %s", found(n))
	}
	return strings.EqualFold(n.Value, "true")
}

// found names what stands at a node.
func found(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind != yaml.ScalarNode:
		return "an alias"
	case n.Value == "" && kindOf(n) == pipeline.KindS:
		return "an empty text"
	}
	switch kindOf(n) {
	case pipeline.KindNULL:
		return "nothing"
	case pipeline.KindBOOL:
		return "a boolean"
	case pipeline.KindN:
		return "a number"
	}
	return "the text " + singleQuoted(n.Value)
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

// singleQuoted is s as a YAML scalar.
func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
