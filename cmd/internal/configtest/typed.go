package configtest

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// oddNumber is what YAML takes for a number and people often do not: a leading zero, octal, hexadecimal.
var oddNumber = regexp.MustCompile(`^[-+]?(?:0[0-9ox]|\.[iInN])`)

// boolWord is true or false, quoted too.
var boolWord = regexp.MustCompile(`^(?:true|True|TRUE|false|False|FALSE)$`)

// marks are the types that a mapping with one key names: {$SS: [a]} is what
// {"SS": ["a"]} is in DynamoDB JSON.
var marks = func() map[string]item.Kind {
	m := make(map[string]item.Kind)
	for k := item.KindS; k <= item.KindBS; k++ {
		m["$"+k.String()] = k
	}
	return m
}()

// plain reads a value as people write it. Where typed is true, a mapping with the
// single key $S, $N, $B, ... is a value in DynamoDB JSON; in a place of plain JSON it
// is a mapping like any other.
func plain(f *yamlbind.File, at *place, typed bool) value {
	if !f.Enter(at) {
		return value{}
	}
	each := func(e *place) value { return plain(f, e, typed) }
	switch n := at.Node; n.Kind {
	case yaml.MappingNode:
		if m, k := onlyMember(at, ""); k != item.Absent && typed {
			return marked(f, m, k)
		}
		return members(f, at, each)
	case yaml.SequenceNode:
		return value{kind: item.KindL, elems: elements(f, at, each)}
	}
	switch is := yamlbind.Resolve(at.Node); is {
	case yamlbind.IsText:
		return text(at.Node.Value)
	case yamlbind.IsNull:
		return value{kind: item.KindNULL}
	case yamlbind.IsBoolean:
		return value{kind: item.KindBOOL, text: strings.ToLower(at.Node.Value)}
	default:
		return digits(f, at, typed)
	}
}

// members reads a mapping as an M, and elements a list.
func members(f *yamlbind.File, at *place, each func(*place) value) value {
	v := object()
	for _, m := range f.Members(at) {
		v = v.with(m.Name, each(m))
	}
	return v
}

func elements(f *yamlbind.File, at *place, each func(*place) value) []value {
	var vs []value
	for _, e := range f.Elements(at) {
		vs = append(vs, each(e))
	}
	return vs
}

// onlyMember is the member of a mapping that has one, and the type that its name says behind a mark: Absent where it
// says none.
func onlyMember(at *place, mark string) (*place, item.Kind) {
	n := at.Node
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 || n.Content[0].Kind != yaml.ScalarNode {
		return nil, item.Absent
	}
	return at.Member(n.Content[0], n.Content[1]), marks[mark+n.Content[0].Value]
}

// digits reads an N with the digits that it has.
func digits(f *yamlbind.File, at *place, typed bool) value {
	n := at.Node
	text := strings.TrimPrefix(n.Value, "+")
	hint := "quote it where text is meant: " + yamlbind.Quoted(n.Value)
	if oddNumber.MatchString(n.Value) && text != "0" {
		f.Fail(at, hint, "%s is no decimal number as DynamoDB writes them", n.Value)
	} else if _, err := decimal.Parse(text); err != nil && typed {
		f.Fail(at, hint, "%s is no number of DynamoDB's: %v", n.Value, err)
	}
	return value{kind: item.KindN, text: text}
}

// setOf is the type of the members of a set.
var setOf = map[item.Kind]item.Kind{item.KindSS: item.KindS, item.KindNS: item.KindN, item.KindBS: item.KindB}

// marked reads what stands under a mark: DynamoDB JSON of that type.
func marked(f *yamlbind.File, at *place, k item.Kind) value {
	if !f.Enter(at) {
		return value{}
	}
	v := value{kind: k}
	each := func(e *place) value { return typed(f, e) }
	switch of, isSet := setOf[k]; {
	case k == item.KindM:
		return members(f, at, each)
	case k == item.KindL:
		v.elems = elements(f, at, each)
	case isSet:
		for _, e := range f.Elements(at) {
			m := scalar(f, e, of)
			f.FailIf(slices.ContainsFunc(v.elems, m.equal), e, "remove it", "the member stands twice in the set")
			v.elems = append(v.elems, m)
		}
		f.FailIf(at.Node.Kind == yaml.SequenceNode && len(v.elems) == 0, at, "DynamoDB has no empty set: leave the attribute out", "the set is empty")
	default:
		return scalar(f, at, k)
	}
	return v
}

// typed reads DynamoDB JSON: a mapping with one key, the type.
func typed(f *yamlbind.File, at *place) value {
	if !f.Enter(at) {
		return value{}
	}
	if m, k := onlyMember(at, "$"); k != item.Absent {
		return marked(f, m, k)
	}
	f.Fail(at, "write {S: text}, {N: '1'}, ...; or leave the $ marks of the mappings around it away", "wants a value in DynamoDB JSON, not %s", f.Found(at.Node))
	return value{}
}

// scalar reads a value of a type that is known: quoted, or as YAML has it.
func scalar(f *yamlbind.File, at *place, k item.Kind) value {
	if !f.Enter(at) {
		return value{}
	}
	v := value{kind: k, text: at.Node.Value}
	var err error
	good := at.Node.Kind == yaml.ScalarNode
	switch k {
	case item.KindN:
		v.text = strings.TrimPrefix(v.text, "+")
		_, err = decimal.Parse(v.text)
	case item.KindB:
		_, err = base64.StdEncoding.Strict().DecodeString(v.text)
	case item.KindBOOL:
		v.text = strings.ToLower(v.text)
		good = good && boolWord.MatchString(at.Node.Value)
	case item.KindNULL:
		v.text = ""
		good = good && strings.EqualFold(at.Node.Value, "true")
	}
	f.FailIf(!good || err != nil, at, "", "wants %s, not %s", wanted[k], f.Found(at.Node))
	return v
}

// wanted says what stands under a mark.
var wanted = map[item.Kind]string{
	item.KindS: "text", item.KindN: "a number of DynamoDB's", item.KindB: "base64",
	item.KindBOOL: "true or false", item.KindNULL: "true",
}
