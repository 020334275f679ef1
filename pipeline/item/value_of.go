package item

import (
	"encoding/base64"
	"unsafe"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// StringValue is s as an S: its very bytes, where they can stand in JSON as they are.
// What is not UTF-8 in it becomes U+FFFD. Clone a text of a page that is to outlive the page.
func StringValue(s string) Value {
	if ddbjson.IsRaw(s) {
		return Value{raw: unsafe.Slice(unsafe.StringData(s), len(s)), kind: KindS}
	}
	return Value{raw: ddbjson.AppendRaw(make([]byte, 0, len(s)+8), s), kind: KindS}
}

// NumberValue is d as an N.
func NumberValue(d decimal.Decimal) Value {
	return Value{raw: d.Append(nil), kind: KindN}
}

// BinaryValue is b as a B.
func BinaryValue(b []byte) Value {
	raw := make([]byte, 0, base64.StdEncoding.EncodedLen(len(b)))
	return Value{raw: base64.StdEncoding.AppendEncode(raw, b), kind: KindB}
}

// BoolValue is b as a BOOL.
func BoolValue(b bool) Value {
	if b {
		return Value{raw: []byte("true"), kind: KindBOOL}
	}
	return Value{raw: []byte("false"), kind: KindBOOL}
}

// NullValue is a NULL.
func NullValue() Value { return Value{raw: []byte("true"), kind: KindNULL} }
