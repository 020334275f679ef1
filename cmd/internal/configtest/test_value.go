package configtest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/jsoncursor"
)

// entries are the members of an object or the elements of a list, in their order.
type entries struct {
	named bool // the members of an object
	list  []entry
}

type entry struct {
	name  string // "" in a list
	value item.Value
}

// entriesOf returns the entries of an M, an L or a set.
func entriesOf(v item.Value) entries {
	es := entries{named: v.Kind() == item.KindM}
	for name, m := range v.Members() {
		es.list = append(es.list, entry{name, m})
	}
	for _, e := range v.Elements() {
		es.list = append(es.list, entry{value: e})
	}
	return es
}

// add appends an entry, unless its value is absent.
func (es *entries) add(name string, v item.Value) {
	if v.Exists() {
		es.list = append(es.list, entry{name, v})
	}
}

// has reports whether there is a member called name.
func (es entries) has(name string) bool {
	return slices.ContainsFunc(es.list, func(e entry) bool { return e.name == name })
}

// value returns an M or an L with the entries.
func (es entries) value() item.Value {
	if es.named {
		raw := []byte{'{'}
		for _, m := range es.list {
			raw = item.AppendMember(raw, m.name, m.value)
		}
		return item.RawValue(item.KindM, append(raw, '}'))
	}
	raw := []byte{'['}
	for i, e := range es.list {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = e.value.AppendDynamoDBJSON(raw)
	}
	return item.RawValue(item.KindL, append(raw, ']'))
}

// object returns an M with the members that are not absent.
func object(members ...entry) item.Value {
	es := entries{named: true}
	for _, m := range members {
		es.add(m.name, m.value)
	}
	return es.value()
}

// pick returns an M with only the named members of v, in the order of names.
func pick(v item.Value, names []string) item.Value {
	es := entries{named: true}
	for _, name := range names {
		m, _ := v.Get(name)
		es.add(name, m)
	}
	return es.value()
}

// without returns the M v without a member.
func without(v item.Value, name string) item.Value {
	es := entriesOf(v)
	es.list = slices.DeleteFunc(es.list, func(m entry) bool { return m.name == name })
	return es.value()
}

// optionalText returns s as an S, or an absent value if s is "".
func optionalText(s string) item.Value {
	if s == "" {
		return item.Value{}
	}
	return item.StringValue(s)
}

// plainJSON converts plain JSON, which a store has written.
func plainJSON(b []byte) item.Value {
	c := jsoncursor.New(b)
	return readJSON(&c)
}

func readJSON(c *jsoncursor.Cursor) item.Value {
	switch c.Peek() {
	case '{':
		es := entries{named: true}
		for name := range c.Members() {
			es.add(jsoncursor.Unquote(name), readJSON(c))
		}
		return es.value()
	case '[':
		var es entries
		for range c.Elements() {
			es.add("", readJSON(c))
		}
		return es.value()
	case '"':
		return item.RawValue(item.KindS, c.Text())
	case 't', 'f':
		return item.RawValue(item.KindBOOL, c.Value())
	case 'n':
		c.Value()
		return item.NullValue()
	}
	return plainNumber(c.Value())
}

// plainNumber converts a number of plain JSON. A number that DynamoDB cannot store becomes a text, because an N cannot
// hold it.
func plainNumber(text []byte) item.Value {
	if _, err := decimal.Parse(text); err != nil {
		return item.RawValue(item.KindS, text)
	}
	return item.RawValue(item.KindN, text)
}

// canonicalNumbers returns v with its numbers as DynamoDB returns them: 10.5 for 10.50.
func canonicalNumbers(v item.Value) item.Value {
	switch v.Kind() {
	case item.KindN:
		d, _ := v.Number()
		return item.NumberValue(d)
	case item.KindM, item.KindL:
		es := entriesOf(v)
		for i := range es.list {
			es.list[i].value = canonicalNumbers(es.list[i].value)
		}
		return es.value()
	}
	return v
}

// marks are the keys that give a value its DynamoDB type: {$SS: [a]} is {"SS": ["a"]} in DynamoDB JSON.
var marks = func() map[string]item.Kind {
	m := make(map[string]item.Kind)
	for k := item.KindS; k <= item.KindBS; k++ {
		m["$"+k.String()] = k
	}
	return m
}()

// oddNumber matches numbers of YAML that people often mean as text: with a leading zero, octal, hexadecimal, .inf and
// .nan.
var oddNumber = regexp.MustCompile(`^[-+]?(?:0[0-9ox]|\.[iInN])`)

// parseValue reads a value. If typed is set, a mapping with the single key $S, $N, $B, ... is a value in DynamoDB JSON.
// Otherwise such a mapping is an ordinary mapping.
func parseValue(f *yamlbind.File, at *fileValue, typed bool) item.Value {
	if !f.FollowAlias(at) {
		return item.Value{}
	}
	switch n := at.Node; n.Kind {
	case yaml.MappingNode:
		if typed && len(n.Content) == 2 && marks[n.Content[0].Value] != item.Absent {
			return parseMarked(f, at.Member(n.Content[0], n.Content[1]), marks[n.Content[0].Value])
		}
		es := entries{named: true}
		for _, m := range f.Members(at) {
			es.add(m.Name, parseValue(f, m, typed))
		}
		return es.value()
	case yaml.SequenceNode:
		var es entries
		for _, e := range f.Elements(at) {
			es.add("", parseValue(f, e, typed))
		}
		return es.value()
	}
	text := at.Node.Value
	switch yamlbind.TypeOf(at.Node) {
	case yamlbind.IsText:
		return item.StringValue(text)
	case yamlbind.IsNull:
		return item.NullValue()
	case yamlbind.IsBoolean:
		return item.BoolValue(strings.EqualFold(text, "true"))
	}
	hint := "quote it where text is meant: " + yamlbind.Quoted(text)
	_, err := decimal.Parse(text)
	if oddNumber.MatchString(text) {
		f.Fail(at, hint, "%s is not a decimal number as DynamoDB writes them", text)
	} else if typed && err != nil {
		f.Fail(at, hint, "%s is not a number of DynamoDB's: %v", text, err)
	}
	return plainNumber([]byte(text))
}

// parseMarked reads the value after a mark, such as $SS. The value is written in DynamoDB JSON, and kind is its type.
func parseMarked(f *yamlbind.File, at *fileValue, kind item.Kind) item.Value {
	if !f.FollowAlias(at) {
		return item.Value{}
	}
	es := entries{named: kind == item.KindM}
	switch kind {
	case item.KindM:
		for _, m := range f.Members(at) {
			es.add(m.Name, parseDynamoDB(f, m))
		}
		return es.value()
	case item.KindL:
		for _, e := range f.Elements(at) {
			es.add("", parseDynamoDB(f, e))
		}
		return es.value()
	case item.KindSS, item.KindNS, item.KindBS:
		return parseSet(f, at, kind)
	}
	return parseScalar(f, at, kind)
}

// parseDynamoDB reads DynamoDB JSON: a mapping with one key, which is the type.
func parseDynamoDB(f *yamlbind.File, at *fileValue) item.Value {
	if !f.FollowAlias(at) {
		return item.Value{}
	}
	n := at.Node
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 {
		if kind := marks["$"+n.Content[0].Value]; kind != item.Absent {
			return parseMarked(f, at.Member(n.Content[0], n.Content[1]), kind)
		}
	}
	f.Fail(at, "write {S: text}, {N: '1'}, ...; or leave the $ marks of the mappings around it out",
		"wants a value in DynamoDB JSON, not %s", f.Describe(n))
	return item.Value{}
}

// parseSet reads the members of a set.
func parseSet(f *yamlbind.File, at *fileValue, kind item.Kind) item.Value {
	memberKind := []item.Kind{item.KindS, item.KindN, item.KindB}[kind-item.KindSS]
	var members []item.Value
	raw := []byte{'['}
	for i, e := range f.Elements(at) {
		m := parseScalar(f, e, memberKind)
		isRepeated := m.Exists() && slices.ContainsFunc(members, m.Equal)
		f.FailIf(isRepeated, e, "remove it", "the member appears twice in the set")
		members = append(members, m)
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(append(append(raw, '"'), m.Raw()...), '"')
	}
	isEmpty := at.Node.Kind == yaml.SequenceNode && len(members) == 0
	f.FailIf(isEmpty, at, "DynamoDB has no empty set: leave the attribute out", "the set is empty")
	return item.RawValue(kind, append(raw, ']'))
}

// boolWord matches true and false.
var boolWord = regexp.MustCompile(`^(?:true|True|TRUE|false|False|FALSE)$`)

// parseScalar reads a scalar of DynamoDB JSON. It may lack the quotes of JSON, or have quotes that JSON has not.
func parseScalar(f *yamlbind.File, at *fileValue, kind item.Kind) item.Value {
	if !f.FollowAlias(at) {
		return item.Value{}
	}
	content := item.StringValue(at.Node.Value).AppendJSON(nil)
	isWord := kind == item.KindBOOL || kind == item.KindNULL
	if isWord && boolWord.Match(content[1:len(content)-1]) {
		content = bytes.ToLower(content[1 : len(content)-1])
	}
	v, err := item.ParseValue(fmt.Appendf(nil, `{"%s":%s}`, kind, content))
	if err != nil || at.Node.Kind != yaml.ScalarNode {
		f.Fail(at, "", "wants %s, not %s", wantedTexts[kind], f.Describe(at.Node))
		return item.Value{}
	}
	return v
}

// wantedTexts describes what a scalar of each type must be, for errors.
var wantedTexts = map[item.Kind]string{
	item.KindS: "text", item.KindN: "a number of DynamoDB's", item.KindB: "base64",
	item.KindBOOL: "true or false", item.KindNULL: "true",
}
