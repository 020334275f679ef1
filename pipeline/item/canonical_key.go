package item

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// Key is the canonical key of an item: the values of its key attributes, sorted by the attributes' names and joined by
// ','. An S is percent-encoded ([AppendEscaped]), an N is '+' and the canonical decimal, a B is '=' and base64url
// without padding. If a pipeline reads several tables, the key starts with the table's name (percent-encoded) and '!'.
// Different items have different keys, and [Key.Decode] decodes a key. Lanes, document ids, templates, event ids and
// archive names use keys.
type Key string

// The errors of key attributes.
var (
	errNoKeys   = errs.New("no key attributes")
	errManyKeys = errs.New("more than two key attributes")
	errKeyKind  = errs.New("a key attribute is an S, an N or a B")
	errKeyEmpty = errs.New("a key attribute is empty")
)

// MakeKey returns the canonical key of the key attributes in keys. keys must have one or two attributes of kind S, N or
// B, and none may be empty. The key starts with table unless table is "".
func MakeKey(table string, keys Image) (Key, error) {
	b, _, err := AppendKey(nil, table, keys)
	return Key(b), err
}

// AppendKey appends the key that [MakeKey] returns. With an error, it also returns the index of the invalid attribute
// in keys, or -1 if keys has no attributes.
func AppendKey(dst []byte, table string, keys Image) ([]byte, int, error) {
	if table != "" {
		dst = append(AppendEscaped(dst, table), '!')
	}
	doc, attrs := keys.Bytes(), keys.Index()
	if len(attrs) == 0 {
		return nil, -1, errNoKeys
	}
	if len(attrs) > 2 {
		return nil, 2, errManyKeys
	}
	first, second := 0, 1
	if len(attrs) == 2 && attrs[0].Text(doc) > attrs[1].Text(doc) {
		first, second = 1, 0
	}
	dst, err := AppendKeyValue(dst, valueOf(doc, attrs, first))
	if err != nil {
		return nil, first, err
	}
	if len(attrs) == 2 {
		if dst, err = AppendKeyValue(append(dst, ','), valueOf(doc, attrs, second)); err != nil {
			return nil, second, err
		}
	}
	return dst, -1, nil
}

// AppendKeyValue appends one value in the form that it has in a [Key]. It returns an error if v is not an S, an N or a
// B, or if v is empty.
func AppendKeyValue(dst []byte, v Value) ([]byte, error) {
	if len(v.raw) == 0 {
		return nil, errKeyEmpty
	}
	switch v.kind {
	case KindS:
		return AppendEscaped(dst, ddbjson.TextOf(v.raw)), nil
	case KindN:
		return ddbjson.DecimalOf(v.raw).Append(append(dst, '+')), nil
	case KindB:
		dst = append(dst, '=')
		start := len(dst)
		dst = append(dst, bytes.TrimRight(ddbjson.TextOf(v.raw), "=")...)
		for i, c := range dst[start:] {
			switch c {
			case '+':
				dst[start+i] = '-'
			case '/':
				dst[start+i] = '_'
			}
		}
		return dst, nil
	}
	return nil, errKeyKind
}

// Decode returns the table and the values of a key. table is "" if the key names no table. The values are sorted by the
// names of their attributes. Decode returns an error if [MakeKey] cannot have made the key.
func (k Key) Decode() (table string, values []Value, err error) {
	rest := string(k)
	if prefix, afterTable, ok := strings.Cut(rest, "!"); ok {
		if table, err = decodeEscaped(prefix); err != nil {
			return "", nil, fmt.Errorf("key: the table: %w", err)
		}
		rest = afterTable
	}
	parts := strings.Split(rest, ",")
	if len(parts) > 2 {
		return "", nil, fmt.Errorf("key: %w", errManyKeys)
	}
	for i, part := range parts {
		v, err := decodeKeyValue(part)
		if err != nil {
			return "", nil, fmt.Errorf("key: value %d: %w", i+1, err)
		}
		values = append(values, v)
	}
	return table, values, nil
}

func decodeKeyValue(part string) (Value, error) {
	switch {
	case part == "":
		return Value{}, errKeyEmpty
	case part[0] == '+':
		d, err := decimal.Parse(part[1:])
		if err == nil && d.String() != part[1:] {
			err = errs.New("the number is not canonical")
		}
		return NumberValue(d), err
	case part[0] == '=':
		b, err := base64.RawURLEncoding.Strict().DecodeString(part[1:])
		if err != nil || len(b) == 0 || strings.ContainsAny(part, "\r\n") {
			return Value{}, errs.New("the binary is not base64url without padding")
		}
		return BinaryValue(b), nil
	}
	text, err := decodeEscaped(part)
	if err == nil && !utf8.ValidString(text) {
		err = ddbjson.ErrUTF8
	}
	return StringValue(text), err
}

// decodeEscaped decodes escaped text. It rejects the escape of a byte that needs no escape, because each item has
// exactly one key.
func decodeEscaped(s string) (string, error) {
	text, err := Unescape(s)
	if err == nil && (text == "" || string(AppendEscaped(nil, text)) != s) {
		err = errs.New("the escaping is not canonical")
	}
	return text, err
}
