package configtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// value is an expected or actual value. It is a value of DynamoDB, or of plain JSON, which has no B and no sets. Unlike
// item.Value it keeps the order of members and the digits of numbers, to show them as the user wrote them. The zero
// value is absent.
type value struct {
	kind  item.Kind
	text  string   // S; N as written; B in base64; BOOL as true or false
	names []string // M: unique names, in their order
	elems []value  // M: the value of each name; L, SS, NS, BS: the elements
}

func textValue(s string) value { return value{kind: item.KindS, text: s} }
func count(n int64) value      { return value{kind: item.KindN, text: fmt.Sprint(n)} }
func list() value              { return value{kind: item.KindL} }
func object() value            { return value{kind: item.KindM} }

// optionalText returns s as a value, or an absent value if s is "".
func optionalText(s string) value {
	if s == "" {
		return value{}
	}
	return textValue(s)
}

// ifTrue returns the value true, or an absent value if set is false.
func ifTrue(set bool) value {
	if !set {
		return value{}
	}
	return value{kind: item.KindBOOL, text: "true"}
}

// with returns the object v with one more member. If m is absent, it returns v unchanged.
func (v value) with(name string, m value) value {
	if m.kind == item.Absent {
		return v
	}
	v.names = append(slices.Clip(v.names), name)
	v.elems = append(slices.Clip(v.elems), m)
	return v
}

// get returns the member called name, or an absent value.
func (v value) get(name string) value {
	if i := slices.Index(v.names, name); i >= 0 {
		return v.elems[i]
	}
	return value{}
}

// without returns the object v without a member.
func (v value) without(name string) value {
	i := slices.Index(v.names, name)
	if i < 0 {
		return v
	}
	v.names = slices.Delete(slices.Clone(v.names), i, i+1)
	v.elems = slices.Delete(slices.Clone(v.elems), i, i+1)
	return v
}

// pick returns an object with only the named members of the object v, in the order of names.
func (v value) pick(names []string) value {
	out := object()
	for _, name := range names {
		out = out.with(name, v.get(name))
	}
	return out
}

// equal reports whether v and w are equal. It compares numbers by value, members by name, and sets without their order.
func (v value) equal(w value) bool {
	if v.kind != w.kind || len(v.elems) != len(w.elems) {
		return false
	}
	switch v.kind {
	case item.KindN:
		x, errX := decimal.Parse(v.text)
		y, errY := decimal.Parse(w.text)
		if errX != nil || errY != nil {
			return v.text == w.text // plain JSON may have numbers that DynamoDB cannot store
		}
		return x.Cmp(y) == 0
	case item.KindM:
		for i, name := range v.names {
			if !v.elems[i].equal(w.get(name)) {
				return false
			}
		}
		return true
	case item.KindSS, item.KindNS, item.KindBS:
		return !slices.ContainsFunc(v.elems, func(e value) bool { return !slices.ContainsFunc(w.elems, e.equal) })
	default:
		return v.text == w.text && slices.EqualFunc(v.elems, w.elems, value.equal)
	}
}

// fromItem converts a value of DynamoDB.
func fromItem(v item.Value) value {
	out := value{kind: v.Kind()}
	switch v.Kind() {
	case item.KindS:
		out.text, _ = v.Text()
	case item.KindN:
		d, _ := v.Number()
		out.text = d.String()
	case item.KindB:
		_ = json.Unmarshal(v.AppendJSON(nil), &out.text) // a JSON string in base64, always
	case item.KindBOOL:
		b, _ := v.Bool()
		out.text = fmt.Sprint(b)
	case item.KindM:
		for name, m := range v.Members() {
			out = out.with(name, fromItem(m))
		}
	case item.KindL, item.KindSS, item.KindNS, item.KindBS:
		for _, e := range v.Elements() {
			out.elems = append(out.elems, fromItem(e))
		}
	}
	return out
}

// imageValue converts an image. The value is absent if the image does not exist.
func imageValue(m item.Image) value { return fromItem(m.Value()) }

// dynamoDBJSON formats v as DynamoDB JSON: {"N":"10.50"}, with numbers as written.
func (v value) dynamoDBJSON() string {
	var body string
	switch v.kind {
	case item.KindBOOL:
		body = v.text
	case item.KindNULL:
		body = "true"
	case item.KindM:
		body = v.itemJSON()
	case item.KindL:
		body = v.join(",", nil, value.dynamoDBJSON)
	case item.KindSS, item.KindNS, item.KindBS:
		body = v.join(",", nil, func(e value) string { return jsonText(e.text) })
	default:
		body = jsonText(v.text)
	}
	return `{"` + v.kind.String() + `":` + body + "}"
}

// itemJSON formats an object as DynamoDB JSON writes an item: {"PK":{"S":"x"}}.
func (v value) itemJSON() string {
	return v.join(",", func(name string) string { return jsonText(name) + ":" }, value.dynamoDBJSON)
}

// join formats the elements of v within brackets, with the text comma between them. If v is an object, join formats the
// members within braces, each after its name. name formats a name, and element formats an element or a member.
func (v value) join(comma string, name func(string) string, element func(value) string) string {
	parts := make([]string, len(v.elems))
	for i, e := range v.elems {
		if v.kind == item.KindM {
			parts[i] = name(v.names[i])
		}
		parts[i] += element(e)
	}
	if v.kind == item.KindM {
		return "{" + strings.Join(parts, comma) + "}"
	}
	return "[" + strings.Join(parts, comma) + "]"
}

func jsonText(s string) string { return string(item.StringValue(s).AppendJSON(nil)) }

// UnmarshalJSON reads plain JSON. It keeps the order of members and the digits of numbers.
func (v *value) UnmarshalJSON(b []byte) error {
	*v = value{}
	switch b[0] {
	case '{':
		v.kind = item.KindM
	case '[':
		v.kind = item.KindL
	case '"':
		v.kind = item.KindS
		return json.Unmarshal(b, &v.text)
	case 't', 'f':
		v.kind, v.text = item.KindBOOL, string(b)
		return nil
	case 'n':
		v.kind = item.KindNULL
		return nil
	default:
		v.kind, v.text = item.KindN, string(b)
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	_, err := dec.Token() // the opening delimiter
	for err == nil && dec.More() {
		if v.kind == item.KindM {
			name, _ := dec.Token() // json has checked b
			v.names = append(v.names, name.(string))
		}
		v.elems = append(v.elems, value{})
		err = dec.Decode(&v.elems[len(v.elems)-1])
	}
	return err
}

// String formats v on one line as in a file of tests, with the marks that its types need, such as $SS. It returns
// "nothing" if v is absent.
func (v value) String() string {
	var marked string // the value after a mark
	switch v.kind {
	case item.Absent:
		return "nothing"
	case item.KindS:
		return scalarText(v.text)
	case item.KindN, item.KindBOOL:
		return v.text
	case item.KindNULL:
		return "null"
	case item.KindL, item.KindM:
		if !v.isMarked() {
			return v.join(", ", func(name string) string { return scalarText(name) + ": " }, value.String)
		}
		marked = v.itemJSON() // JSON is YAML
	case item.KindSS, item.KindBS:
		marked = v.join(", ", nil, func(e value) string { return scalarText(e.text) })
	case item.KindNS:
		marked = v.join(", ", nil, func(e value) string { return e.text })
	default:
		marked = scalarText(v.text)
	}
	return "{$" + v.kind.String() + ": " + marked + "}"
}

// isMarked reports whether an object would be read as a marked value, because its only name is $S, $N, ...
func (v value) isMarked() bool { return len(v.names) == 1 && marks[v.names[0]] != item.Absent }

// plainText matches text that needs no quotes in YAML, unless oldWord matches it, too. oldWord matches words of YAML
// 1.1 that some readers do not parse as text.
var (
	plainText = regexp.MustCompile(`^[\pL_$](?:[\pL\pN_./$#%-]| [\pL\pN])*$`)
	oldWord   = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null)$`)
)

// scalarText formats s as a YAML scalar.
func scalarText(s string) string {
	switch {
	case plainText.MatchString(s) && !oldWord.MatchString(s):
		return s
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return strconv.QuoteToASCII(s)
	}
	return yamlbind.Quoted(s)
}

// maxLine is the longest line of an element. A longer element is written on several lines.
const maxLine = 120

// block formats v as the value of a key in a block mapping. indent is the indentation of the mapping. The result is
// either a value on the line of the key, such as " []", or several lines. Several lines begin with a line feed.
func (v value) block(indent int) string {
	if v.kind != item.KindL && v.kind != item.KindM || len(v.elems) == 0 || v.isMarked() {
		return " " + v.String()
	}
	var b strings.Builder
	margin := "\n" + strings.Repeat(" ", indent+2)
	for i, e := range v.elems {
		start := margin
		if v.kind == item.KindM {
			start += scalarText(v.names[i]) + ":"
		} else {
			start += "-"
		}
		line := e.String()
		switch {
		case len(start)+len(line) <= maxLine || e.kind != item.KindM && e.kind != item.KindL:
			b.WriteString(start + " " + line)
		case v.kind == item.KindM:
			b.WriteString(start + e.block(indent+2))
		default: // "- " and the first line of the element on one line
			b.WriteString(start + " " + strings.TrimLeft(e.block(indent+2), "\n "))
		}
	}
	return b.String()
}
