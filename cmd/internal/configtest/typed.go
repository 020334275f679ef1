package configtest

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline"
)

// The words of YAML 1.2: yes, on and 2006-01-02 are text.
var (
	nullWord   = regexp.MustCompile(`^(?:null|Null|NULL|~|)$`)
	boolWord   = regexp.MustCompile(`^(?:true|True|TRUE|false|False|FALSE)$`)
	numberWord = regexp.MustCompile(`^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	oddNumber  = regexp.MustCompile(`^[-+]?(?:0[0-9ox]|\.[iInN])`)
)

// kindOf is what a scalar means: S, N, BOOL or NULL.
func kindOf(n *yaml.Node) pipeline.Kind {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	switch {
	case n.Style&quoted != 0:
		return pipeline.KindS
	case nullWord.MatchString(n.Value):
		return pipeline.KindNULL
	case boolWord.MatchString(n.Value):
		return pipeline.KindBOOL
	case numberWord.MatchString(n.Value):
		return pipeline.KindN
	}
	return pipeline.KindS
}

// marks are the types that a mapping with one key names: {$SS: [a]} is what
// {"SS": ["a"]} is in DynamoDB JSON.
var marks = func() map[string]pipeline.Kind {
	m := make(map[string]pipeline.Kind)
	for k := pipeline.KindS; k <= pipeline.KindBS; k++ {
		m["$"+k.String()] = k
	}
	return m
}()

// plain reads a value as people write it. Where typed is true, a mapping with the
// single key $S, $N, $B, ... is a value in DynamoDB JSON; in a place of plain JSON it
// is a mapping like any other.
func (r *reader) plain(n *yaml.Node, field string, typed bool) value {
	n = follow(n)
	if !r.sound(n, field) {
		return value{}
	}
	switch n.Kind {
	case yaml.MappingNode:
		if k, ok := markOf(n); ok && typed {
			return r.marked(n.Content[1], join(field, n.Content[0].Value), k)
		}
		v := object()
		for _, e := range r.entries(n, field) {
			v = v.with(e.name, r.plain(e.value, e.field, typed))
		}
		return v
	case yaml.SequenceNode:
		v := list()
		for _, e := range r.items(n, field) {
			v.elems = append(v.elems, r.plain(e.value, e.field, typed))
		}
		return v
	}
	k := kindOf(n)
	switch k {
	case pipeline.KindN:
		return r.number(n, field, typed)
	case pipeline.KindBOOL:
		return value{kind: k, text: strings.ToLower(n.Value)}
	case pipeline.KindNULL:
		return value{kind: k}
	}
	return text(n.Value)
}

// markOf tells whether a mapping is a mark, and of which type.
func markOf(n *yaml.Node) (pipeline.Kind, bool) {
	if len(n.Content) != 2 || n.Content[0].Kind != yaml.ScalarNode {
		return pipeline.Absent, false
	}
	k, ok := marks[n.Content[0].Value]
	return k, ok
}

// number reads an N with the digits that it has. What YAML takes for a number and
// people often do not (a leading zero, octal, hexadecimal) is refused.
func (r *reader) number(n *yaml.Node, field string, typed bool) value {
	digits := strings.TrimPrefix(n.Value, "+")
	if oddNumber.MatchString(n.Value) && digits != "0" {
		r.fail(n, field, "quote it where text is meant: "+singleQuoted(n.Value), "%s is no decimal number as DynamoDB writes them", n.Value)
	} else if _, err := pipeline.ParseDecimal(digits); err != nil && typed {
		r.fail(n, field, "quote it where text is meant: "+singleQuoted(n.Value), "%s is no number of DynamoDB's: %v", n.Value, err)
	}
	return value{kind: pipeline.KindN, text: digits}
}

// marked reads what stands under a mark: DynamoDB JSON of that type.
func (r *reader) marked(n *yaml.Node, field string, k pipeline.Kind) value {
	n = follow(n)
	if !r.sound(n, field) {
		return value{}
	}
	v := value{kind: k}
	switch k {
	case pipeline.KindM:
		for _, e := range r.entries(n, field) {
			v = v.with(e.name, r.typed(e.value, e.field))
		}
	case pipeline.KindL:
		for _, e := range r.items(n, field) {
			v.elems = append(v.elems, r.typed(e.value, e.field))
		}
	case pipeline.KindSS, pipeline.KindNS, pipeline.KindBS:
		of := map[pipeline.Kind]pipeline.Kind{pipeline.KindSS: pipeline.KindS, pipeline.KindNS: pipeline.KindN, pipeline.KindBS: pipeline.KindB}[k]
		for _, e := range r.items(n, field) {
			m := r.scalar(e.value, e.field, of)
			if slices.ContainsFunc(v.elems, m.equal) {
				r.fail(e.value, e.field, "remove it", "the member stands twice in the set")
			}
			v.elems = append(v.elems, m)
		}
		if n.Kind == yaml.SequenceNode && len(v.elems) == 0 {
			r.fail(n, field, "DynamoDB has no empty set: leave the attribute out", "the set is empty")
		}
	default:
		return r.scalar(n, field, k)
	}
	return v
}

// typed reads DynamoDB JSON: a mapping with one key, the type.
func (r *reader) typed(n *yaml.Node, field string) value {
	n = follow(n)
	if !r.sound(n, field) {
		return value{}
	}
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 {
		name := n.Content[0].Value
		if k, ok := marks["$"+name]; ok {
			return r.marked(n.Content[1], join(field, name), k)
		}
	}
	r.fail(n, field, "write {S: text}, {N: '1'}, ...; or leave the $ marks of the mappings around it away", "wants a value in DynamoDB JSON, not %s", found(n))
	return value{}
}

// scalar reads a value of a type that is known: quoted, or as YAML has it.
func (r *reader) scalar(n *yaml.Node, field string, k pipeline.Kind) value {
	n = follow(n)
	v := value{kind: k, text: n.Value}
	good := n.Kind == yaml.ScalarNode
	switch k {
	case pipeline.KindN:
		v.text = strings.TrimPrefix(v.text, "+")
		_, err := pipeline.ParseDecimal(v.text)
		good = good && err == nil
	case pipeline.KindB:
		_, err := base64.StdEncoding.Strict().DecodeString(v.text)
		good = good && err == nil
	case pipeline.KindBOOL:
		v.text = strings.ToLower(v.text)
		good = good && boolWord.MatchString(n.Value)
	case pipeline.KindNULL:
		v.text = ""
		good = good && strings.EqualFold(n.Value, "true")
	}
	if !good {
		r.fail(n, field, "", "wants %s, not %s", wanted[k], found(n))
	}
	return v
}

// wanted says what stands under a mark.
var wanted = map[pipeline.Kind]string{
	pipeline.KindS: "text", pipeline.KindN: "a number of DynamoDB's", pipeline.KindB: "base64",
	pipeline.KindBOOL: "true or false", pipeline.KindNULL: "true",
}
