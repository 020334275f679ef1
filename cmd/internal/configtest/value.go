package configtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// value is an expected or actual value: of DynamoDB, or of plain JSON, which has no B and no sets. Unlike item.Value it
// keeps the order of members and the digits of numbers, to show them as the user wrote them. The zero value is absent.
type value struct {
	kind  item.Kind
	text  string   // S; N as written; B in base64; BOOL as true or false
	names []string // M: unique names, in their order
	elems []value  // M: the values of names; L, SS, NS, BS: the elements
}

func text(s string) value { return value{kind: item.KindS, text: s} }
func count(n int64) value { return value{kind: item.KindN, text: fmt.Sprint(n)} }
func trueValue() value    { return value{kind: item.KindBOOL, text: "true"} }
func list() value         { return value{kind: item.KindL} }
func object() value       { return value{kind: item.KindM} }

// with returns the object v with one more member. An absent member is not added.
func (v value) with(name string, m value) value {
	if m.kind == item.Absent {
		return v
	}
	v.names = append(slices.Clip(v.names), name)
	v.elems = append(slices.Clip(v.elems), m)
	return v
}

// get returns the member of that name, or absent.
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

// equal compares numbers by value, members by name, and sets without their order.
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

// imageValue converts an image; absent if there is none.
func imageValue(m item.Image) value { return fromItem(m.Value()) }

// appendDynamoDBJSON appends v as DynamoDB JSON: {"N":"10.50"}, with numbers as written.
func (v value) appendDynamoDBJSON(dst []byte) []byte {
	dst = append(append(append(dst, '{', '"'), v.kind.String()...), '"', ':')
	switch v.kind {
	case item.KindBOOL:
		dst = append(dst, v.text...)
	case item.KindNULL:
		dst = append(dst, "true"...)
	case item.KindM:
		dst = v.appendMembers(dst)
	case item.KindL:
		dst = appendList(dst, v.elems, ",", value.appendDynamoDBJSON)
	case item.KindSS, item.KindNS, item.KindBS:
		dst = appendList(dst, v.elems, ",", func(e value, dst []byte) []byte { return appendText(dst, e.text) })
	default:
		dst = appendText(dst, v.text)
	}
	return append(dst, '}')
}

// appendMembers appends an object as DynamoDB JSON writes an item: {"PK":{"S":"x"}}.
func (v value) appendMembers(dst []byte) []byte {
	dst = append(dst, '{')
	for i, name := range v.names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = v.elems[i].appendDynamoDBJSON(append(appendText(dst, name), ':'))
	}
	return append(dst, '}')
}

func appendList(dst []byte, vs []value, comma string, each func(value, []byte) []byte) []byte {
	dst = append(dst, '[')
	for i, v := range vs {
		if i > 0 {
			dst = append(dst, comma...)
		}
		dst = each(v, dst)
	}
	return append(dst, ']')
}

func appendText(dst []byte, s string) []byte { return item.StringValue(s).AppendJSON(dst) }

var errJSON = errors.New("it is no JSON object")

// parseJSON reads plain JSON, members in their order, numbers as they are written.
func parseJSON(b []byte) (value, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	v, err := parseJSONToken(dec)
	if err == nil {
		if _, end := dec.Token(); !errors.Is(end, io.EOF) {
			err = errJSON
		}
	}
	return v, err
}

func parseJSONToken(dec *json.Decoder) (value, error) {
	token, err := dec.Token()
	if err != nil {
		return value{}, err
	}
	switch t := token.(type) {
	case json.Delim:
		return parseJSONRest(dec, t)
	case string:
		return text(t), nil
	case json.Number:
		return value{kind: item.KindN, text: t.String()}, nil
	case bool:
		return value{kind: item.KindBOOL, text: fmt.Sprint(t)}, nil
	default:
		return value{kind: item.KindNULL}, nil
	}
}

// parseJSONRest reads an object or an array after its opening delimiter.
func parseJSONRest(dec *json.Decoder, open json.Delim) (value, error) {
	v := list()
	if open == '{' {
		v = object()
	}
	for dec.More() {
		var name value
		var err error
		if open == '{' {
			if name, err = parseJSONToken(dec); err != nil {
				return value{}, err
			}
		}
		e, err := parseJSONToken(dec)
		if err != nil {
			return value{}, err
		}
		if v.elems = append(v.elems, e); open == '{' {
			v.names = append(v.names, name.text)
		}
	}
	_, err := dec.Token()
	return v, err
}
