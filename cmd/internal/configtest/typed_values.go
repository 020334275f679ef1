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

// oddNumber matches numbers of YAML that people often mean as text: with a leading zero, octal, hexadecimal, .inf and
// .nan.
var oddNumber = regexp.MustCompile(`^[-+]?(?:0[0-9ox]|\.[iInN])`)

// boolWord matches true and false, also if quoted.
var boolWord = regexp.MustCompile(`^(?:true|True|TRUE|false|False|FALSE)$`)

// marks are the keys that give a value its DynamoDB type: {$SS: [a]} is {"SS": ["a"]} in DynamoDB JSON.
var marks = func() map[string]item.Kind {
	m := make(map[string]item.Kind)
	for k := item.KindS; k <= item.KindBS; k++ {
		m["$"+k.String()] = k
	}
	return m
}()

// parseValue reads a value. If typed is set, a mapping with the single key $S, $N, $B, ... is a value in DynamoDB JSON.
// Otherwise such a mapping is an ordinary mapping.
func parseValue(f *yamlbind.File, at *fileValue, typed bool) value {
	if !f.FollowAlias(at) {
		return value{}
	}
	each := func(e *fileValue) value { return parseValue(f, e, typed) }
	switch at.Node.Kind {
	case yaml.MappingNode:
		if m, kind := onlyMember(at, ""); typed && kind != item.Absent {
			return parseMarked(f, m, kind)
		}
		return parseNested(f, at, item.KindM, each)
	case yaml.SequenceNode:
		return parseNested(f, at, item.KindL, each)
	}
	switch yamlbind.TypeOf(at.Node) {
	case yamlbind.IsText:
		return textValue(at.Node.Value)
	case yamlbind.IsNull:
		return value{kind: item.KindNULL}
	case yamlbind.IsBoolean:
		return value{kind: item.KindBOOL, text: strings.ToLower(at.Node.Value)}
	default:
		return parseNumber(f, at, typed)
	}
}

// parseNested reads a mapping if kind is M, and otherwise a list. each reads one element.
func parseNested(f *yamlbind.File, at *fileValue, kind item.Kind, each func(*fileValue) value) value {
	v := value{kind: kind}
	if kind == item.KindM {
		for _, m := range f.Members(at) {
			v = v.with(m.Name, each(m))
		}
		return v
	}
	for _, e := range f.Elements(at) {
		v.elems = append(v.elems, each(e))
	}
	return v
}

// onlyMember returns the only member of a mapping, and the type for the text prefix + key. For example, the type is SS
// for the prefix "" and the key $SS, and for the prefix "$" and the key SS. The member is nil if the mapping does not
// have exactly one member. The type is Absent if the text names no type.
func onlyMember(at *fileValue, prefix string) (*fileValue, item.Kind) {
	n := at.Node
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 || n.Content[0].Kind != yaml.ScalarNode {
		return nil, item.Absent
	}
	return at.Member(n.Content[0], n.Content[1]), marks[prefix+n.Content[0].Value]
}

// parseNumber reads an N. The value keeps the digits as they are written.
func parseNumber(f *yamlbind.File, at *fileValue, typed bool) value {
	written := at.Node.Value
	text := strings.TrimPrefix(written, "+")
	hint := "quote it where text is meant: " + yamlbind.Quoted(written)
	_, err := decimal.Parse(text)
	switch {
	case text != "0" && oddNumber.MatchString(written):
		f.Fail(at, hint, "%s is not a decimal number as DynamoDB writes them", written)
	case typed && err != nil:
		f.Fail(at, hint, "%s is not a number of DynamoDB's: %v", written, err)
	}
	return value{kind: item.KindN, text: text}
}

// memberKinds maps the type of a set to the type of its members.
var memberKinds = map[item.Kind]item.Kind{item.KindSS: item.KindS, item.KindNS: item.KindN, item.KindBS: item.KindB}

// parseMarked reads the value after a mark, such as $SS. The value is written in DynamoDB JSON, and k is its type.
func parseMarked(f *yamlbind.File, at *fileValue, k item.Kind) value {
	if !f.FollowAlias(at) {
		return value{}
	}
	switch k {
	case item.KindM, item.KindL:
		return parseNested(f, at, k, func(e *fileValue) value { return parseDynamoDB(f, e) })
	case item.KindSS, item.KindNS, item.KindBS:
		return parseSet(f, at, k)
	}
	return parseScalar(f, at, k)
}

func parseSet(f *yamlbind.File, at *fileValue, k item.Kind) value {
	v := value{kind: k}
	for _, e := range f.Elements(at) {
		m := parseScalar(f, e, memberKinds[k])
		f.FailIf(slices.ContainsFunc(v.elems, m.equal), e, "remove it", "the member appears twice in the set")
		v.elems = append(v.elems, m)
	}
	isEmpty := at.Node.Kind == yaml.SequenceNode && len(v.elems) == 0
	f.FailIf(isEmpty, at, "DynamoDB has no empty set: leave the attribute out", "the set is empty")
	return v
}

// parseDynamoDB reads DynamoDB JSON: a mapping with one key, which is the type.
func parseDynamoDB(f *yamlbind.File, at *fileValue) value {
	if !f.FollowAlias(at) {
		return value{}
	}
	if m, kind := onlyMember(at, "$"); kind != item.Absent {
		return parseMarked(f, m, kind)
	}
	f.Fail(at, "write {S: text}, {N: '1'}, ...; or leave the $ marks of the mappings around it out",
		"wants a value in DynamoDB JSON, not %s", f.Describe(at.Node))
	return value{}
}

// parseScalar reads a scalar of type k, which may be quoted.
func parseScalar(f *yamlbind.File, at *fileValue, k item.Kind) value {
	if !f.FollowAlias(at) {
		return value{}
	}
	v := value{kind: k, text: at.Node.Value}
	var err error
	valid := at.Node.Kind == yaml.ScalarNode
	switch k {
	case item.KindN:
		v.text = strings.TrimPrefix(v.text, "+")
		_, err = decimal.Parse(v.text)
	case item.KindB:
		_, err = base64.StdEncoding.Strict().DecodeString(v.text)
	case item.KindBOOL:
		v.text = strings.ToLower(v.text)
		valid = valid && boolWord.MatchString(at.Node.Value)
	case item.KindNULL:
		v.text = ""
		valid = valid && strings.EqualFold(at.Node.Value, "true")
	}
	f.FailIf(!valid || err != nil, at, "", "wants %s, not %s", wanted[k], f.Describe(at.Node))
	return v
}

// wanted describes what the value of each type must be, for errors.
var wanted = map[item.Kind]string{
	item.KindS: "text", item.KindN: "a number of DynamoDB's", item.KindB: "base64",
	item.KindBOOL: "true or false", item.KindNULL: "true",
}
