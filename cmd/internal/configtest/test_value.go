package configtest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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
	return plainNumber(string(c.Value()))
}

// plainNumber converts a number of plain JSON. A number that DynamoDB cannot store becomes a text, because an N cannot
// hold it.
func plainNumber(text string) item.Value {
	if _, err := decimal.Parse(text); err != nil {
		return item.StringValue(canonicalNumber(text))
	}
	return item.RawValue(item.KindN, []byte(text))
}

// canonicalNumber returns the significant digits of a number as an integer, and the power of ten: 12e399 for both
// 1.20e400 and 120e398.
func canonicalNumber(text string) string {
	unsigned, isNegative := strings.CutPrefix(text, "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(unsigned), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "+0")
	significant := strings.TrimRight(digits, "0")
	power, _ := strconv.Atoi(exponent) // a power that is no int becomes the largest or the smallest int
	power += len(digits) - len(significant) - len(fraction)
	if isNegative {
		significant = "-" + significant
	}
	if power != 0 {
		significant += "e" + strconv.Itoa(power)
	}
	return significant
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

// notation is how a value is written in a file.
type notation int

const (
	plain  notation = iota // like JSON
	marked                 // like JSON. A mapping with the single key $S, $N, $B, ... has a value in DynamoDB JSON
	dynamo                 // DynamoDB JSON: a mapping with the single key S, N, B, ...
)

// kindOf returns the type of a node that has its type as its only key, and otherwise Absent.
func (w notation) kindOf(n *yaml.Node) item.Kind {
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 || n.Content[0].Kind != yaml.ScalarNode {
		return item.Absent
	}
	switch key := n.Content[0].Value; w {
	case marked:
		return marks[key]
	case dynamo:
		return marks["$"+key]
	}
	return item.Absent
}

// parse reads a value.
func (w notation) parse(f *yamlbind.File, at *fileValue) item.Value {
	if !f.FollowAlias(at) {
		return item.Value{}
	}
	return w.parseFollowed(f, at)
}

// parseFollowed reads a value whose alias is followed.
func (w notation) parseFollowed(f *yamlbind.File, at *fileValue) item.Value {
	n, kind := at.Node, w.kindOf(at.Node)
	switch {
	case kind != item.Absent:
		return parseTyped(f, at.Member(n.Content[0], n.Content[1]), kind)
	case w == dynamo:
		f.Fail(at, "write {S: text}, {N: '1'}, ...; or leave the $ marks of the mappings around it out",
			"wants a value in DynamoDB JSON, not %s", f.Describe(n))
		return item.Value{}
	case n.Kind != yaml.ScalarNode:
		return parseEntries(f, at, w.parse).value()
	}
	return w.parseScalar(f, at)
}

// parser reads a value. Its alias is not followed yet.
type parser func(*yamlbind.File, *fileValue) item.Value

// parseEntries reads a mapping or a list.
func parseEntries(f *yamlbind.File, at *fileValue, parse parser) entries {
	if at.Node.Kind == yaml.MappingNode {
		return parseMembers(f, at, parse)
	}
	return parseElements(f, at, parse)
}

func parseMembers(f *yamlbind.File, at *fileValue, parse parser) entries {
	es := entries{named: true}
	for _, m := range f.Members(at) {
		es.add(m.Name, parse(f, m))
	}
	return es
}

func parseElements(f *yamlbind.File, at *fileValue, parse parser) (es entries) {
	for _, e := range f.Elements(at) {
		es.add("", parse(f, e))
	}
	return es
}

// oddNumber matches numbers of YAML that people often mean as text: with a leading zero, octal, hexadecimal, .inf and
// .nan.
var oddNumber = regexp.MustCompile(`^[-+]?(?:0[0-9ox]|\.[iInN])`)

// parseScalar reads a scalar whose type is that of YAML.
func (w notation) parseScalar(f *yamlbind.File, at *fileValue) item.Value {
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
	} else if w == marked && err != nil {
		f.Fail(at, hint, "%s is not a number of DynamoDB's: %v", text, err)
	}
	return plainNumber(text)
}

// parseTyped reads the content of a value in DynamoDB JSON. Its type is kind.
func parseTyped(f *yamlbind.File, at *fileValue, kind item.Kind) item.Value {
	if !f.FollowAlias(at) {
		return item.Value{}
	}
	switch kind {
	case item.KindM:
		return parseMembers(f, at, dynamo.parse).value()
	case item.KindL:
		return parseElements(f, at, dynamo.parse).value()
	case item.KindSS, item.KindNS, item.KindBS:
		return parseSet(f, at, kind)
	}
	return parseTypedScalar(f, at, kind)
}

// parseSet reads the members of a set.
func parseSet(f *yamlbind.File, at *fileValue, kind item.Kind) item.Value {
	memberKind := []item.Kind{item.KindS, item.KindN, item.KindB}[kind-item.KindSS]
	var members []item.Value
	var texts [][]byte
	for _, e := range f.Elements(at) {
		m := parseTyped(f, e, memberKind)
		isRepeated := m.Exists() && slices.ContainsFunc(members, m.Equal)
		f.FailIf(isRepeated, e, "remove it", "the member appears twice in the set")
		members, texts = append(members, m), append(texts, fmt.Appendf(nil, `"%s"`, m.Raw()))
	}
	isEmpty := at.Node.Kind == yaml.SequenceNode && len(members) == 0
	f.FailIf(isEmpty, at, "DynamoDB has no empty set: leave the attribute out", "the set is empty")
	return item.RawValue(kind, fmt.Appendf(nil, "[%s]", bytes.Join(texts, []byte(","))))
}

// boolWord matches true and false.
var boolWord = regexp.MustCompile(`^(?:true|True|TRUE|false|False|FALSE)$`)

// parseTypedScalar reads a scalar of DynamoDB JSON. It may lack the quotes of JSON, or have quotes that JSON has not.
func parseTypedScalar(f *yamlbind.File, at *fileValue, kind item.Kind) item.Value {
	text := at.Node.Value
	content := item.AppendJSONText(nil, text)
	isWord := kind == item.KindBOOL || kind == item.KindNULL
	if isWord && boolWord.MatchString(text) {
		content = []byte(strings.ToLower(text))
	}
	v, err := item.ParseValue(fmt.Appendf(nil, `{"%s":%s}`, kind, content))
	if err == nil && at.Node.Kind == yaml.ScalarNode {
		return v
	}
	if reason := misfit(at.Node, kind); reason != nil {
		f.Fail(at, "", "%s is not %s: %v", yamlbind.Quoted(text), wantedTexts[kind], reason)
	} else {
		f.Fail(at, "", "wants %s, not %s", wantedTexts[kind], f.Describe(at.Node))
	}
	return item.Value{}
}

// misfit returns the reason why a scalar is not an N or a B. It returns nil for other nodes and types.
func misfit(n *yaml.Node, kind item.Kind) (reason error) {
	switch {
	case n.Kind != yaml.ScalarNode:
	case kind == item.KindN:
		_, reason = decimal.Parse(n.Value)
	case kind == item.KindB:
		_, reason = base64.StdEncoding.DecodeString(n.Value)
	}
	return reason
}

// wantedTexts describes what a scalar of each type must be, for errors.
var wantedTexts = map[item.Kind]string{
	item.KindS: "text", item.KindN: "a number of DynamoDB's", item.KindB: "base64",
	item.KindBOOL: "true or false", item.KindNULL: "true",
}
