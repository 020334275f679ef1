package item

import (
	"bytes"
	"encoding/base64"
	"iter"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// Kind is the DynamoDB type of a [Value]. The zero Kind is Absent: there is no value.
type Kind uint8

// The ten DynamoDB attribute types.
const (
	Absent   = Kind(ddbjson.NoTag)
	KindS    = Kind(ddbjson.TagS)
	KindN    = Kind(ddbjson.TagN)
	KindB    = Kind(ddbjson.TagB)
	KindBOOL = Kind(ddbjson.TagBOOL)
	KindNULL = Kind(ddbjson.TagNULL)
	KindM    = Kind(ddbjson.TagM)
	KindL    = Kind(ddbjson.TagL)
	KindSS   = Kind(ddbjson.TagSS)
	KindNS   = Kind(ddbjson.TagNS)
	KindBS   = Kind(ddbjson.TagBS)
)

// String is the DynamoDB type tag ("S", "NS", ...), or "absent".
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

var kindNames = [...]string{"absent", "S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"}

// Value is one attribute value: its type and a range of a page's bytes. The zero Value is absent. Values are immutable
// and safe for concurrent use.
//
// The decoder has checked every value completely, so a getter fails only for a value of another kind. Texts without
// escapes are ranges of the page. Texts with escapes, binaries and decimals are built at each call.
type Value struct {
	raw  []byte // bytes between the quotes of an S, an N or a B; JSON under the type tag of any other kind
	kind Kind
}

// RawValue returns a value from checked bytes. raw has the form that [Value.Raw] returns, and the value keeps it. If
// the bytes were not checked, use [ParseValue], [StringValue] and similar functions instead.
func RawValue(kind Kind, raw []byte) Value { return Value{raw: raw, kind: kind} }

// Raw returns the bytes of v in the page. For an S, an N or a B they are the bytes between the quotes, with escapes.
// For any other kind they are the JSON under the type tag. The caller must not change them.
func (v Value) Raw() []byte { return v.raw }

// Kind is the type of v. It is Absent for the zero Value.
func (v Value) Kind() Kind { return v.kind }

// Exists reports whether there is a value. A NULL exists.
func (v Value) Exists() bool { return v.kind != Absent }

// IsNull reports whether v is a NULL.
func (v Value) IsNull() bool { return v.kind == KindNULL }

// Text returns the text of an S, which may be empty. It returns false for any other kind.
func (v Value) Text() (string, bool) {
	if v.kind != KindS {
		return "", false
	}
	return ddbjson.View(ddbjson.TextOf(v.raw)), true
}

// Number returns the exact value of an N. It returns false for any other kind.
func (v Value) Number() (decimal.Decimal, bool) {
	if v.kind != KindN {
		return decimal.Decimal{}, false
	}
	return ddbjson.DecimalOf(v.raw), true
}

// Int64 returns the value of an N that is an integer and fits into an int64. It returns false for any other value.
func (v Value) Int64() (int64, bool) {
	d, ok := v.Number()
	if !ok {
		return 0, false
	}
	return d.Int64()
}

// Float64 returns the nearest float64 of an N. It returns false for any other kind.
func (v Value) Float64() (float64, bool) {
	d, ok := v.Number()
	if !ok {
		return 0, false
	}
	return d.Float64(), true
}

// Bool returns the value of a BOOL. It returns false for any other kind.
func (v Value) Bool() (value, ok bool) {
	return v.kind == KindBOOL && v.raw[0] == 't', v.kind == KindBOOL
}

// Bytes returns the bytes of a B, which may be empty, in new memory. It returns false for any other kind.
func (v Value) Bytes() ([]byte, bool) {
	if v.kind != KindB {
		return nil, false
	}
	raw := ddbjson.TextOf(v.raw)
	b := make([]byte, 0, base64.StdEncoding.DecodedLen(len(raw)))
	b, _ = base64.StdEncoding.AppendDecode(b, raw)
	return b, true
}

// Len returns the number of members of an M or a set, of elements of an L, or of bytes of an S or a B. It returns 0 for
// any other kind.
func (v Value) Len() int {
	n := 0
	switch v.kind {
	case KindS:
		n = len(ddbjson.TextOf(v.raw))
	case KindB:
		raw := ddbjson.TextOf(v.raw)
		n = base64.StdEncoding.DecodedLen(len(raw))
		for len(raw) > 0 && raw[len(raw)-1] == '=' {
			raw = raw[:len(raw)-1]
			n--
		}
	case KindM:
		for range v.Members() {
			n++
		}
	case KindL, KindSS, KindNS, KindBS:
		for range v.Elements() {
			n++
		}
	}
	return n
}

// Get returns the member of an M by its name, or false if there is none or v is not an M.
func (v Value) Get(name string) (Value, bool) {
	if v.kind != KindM {
		return Value{}, false
	}
	for w := walk(v.raw); ; {
		raw, member, ok := w.member()
		if !ok {
			return Value{}, false
		}
		mayMatch := string(raw) == name || len(raw) > len(name) // a name with escapes is longer than its text
		if mayMatch && string(ddbjson.TextOf(raw)) == name {
			return member, true
		}
	}
}

// Index returns element i of an L, or member i of a set as an S, an N or a B. i counts from 0, in the order of the
// page. Index returns false if there is no such element, or if v is neither an L nor a set.
func (v Value) Index(i int) (Value, bool) {
	if !v.hasElements() || i < 0 {
		return Value{}, false
	}
	w := walk(v.raw)
	for range i {
		if _, ok := w.element(v.kind); !ok {
			return Value{}, false
		}
	}
	return w.element(v.kind)
}

// Lookup returns the value at a path below v, such as Lines[0].sku or [0].sku. It returns false if there is no value,
// or if the path is invalid. See [ParsePath] for the syntax.
func (v Value) Lookup(path string) (Value, bool) {
	return v.lookup(cutFirstSegment(path, pathSyntax))
}

// Members iterates over the members of an M, in the order of the page. Any other kind has none.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.kind != KindM {
			return
		}
		for w := walk(v.raw); ; {
			name, m, ok := w.member()
			if !ok || !yield(ddbjson.View(ddbjson.TextOf(name)), m) {
				return
			}
		}
	}
}

// Elements iterates over the elements of an L, or the members of a set as S, N or B, in the order of the page. Any
// other kind has none.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if !v.hasElements() {
			return
		}
		w := walk(v.raw)
		for i := 0; ; i++ {
			e, ok := w.element(v.kind)
			if !ok || !yield(i, e) {
				return
			}
		}
	}
}

// hasElements reports whether v is an L or a set.
func (v Value) hasElements() bool { return v.kind == KindL || v.kind >= KindSS }

// ParseValue reads and checks one DynamoDB JSON value, such as {"S":"x"}. The value keeps b, which the caller must not
// change. The error names the offset and the path, and holds no data.
func ParseValue(b []byte) (Value, error) {
	s := ddbjson.Scanner{Input: b}
	start := s.SkipSpace(0)
	tag, from, to, next := s.Value(start, 0)
	if next >= 0 {
		next = s.SkipSpace(next)
		if next == len(b) {
			return Value{raw: b[from:to:to], kind: Kind(tag)}, nil
		}
		s.Fail(next, ddbjson.ErrTrailing)
	}
	return Value{}, s.Failure(ddbjson.InValue)
}

// StringValue returns s as an S. Invalid UTF-8 becomes U+FFFD. If s needs no escapes in JSON, the value refers to the
// bytes of s. So clone s if it is a text of a page and the value must outlive the page.
func StringValue(s string) Value {
	if ddbjson.IsRaw(s) {
		return Value{raw: ddbjson.Bytes(s), kind: KindS}
	}
	return Value{raw: ddbjson.AppendRaw(make([]byte, 0, len(s)+8), s), kind: KindS}
}

// NumberValue returns d as an N.
func NumberValue(d decimal.Decimal) Value {
	return Value{raw: d.Append(nil), kind: KindN}
}

// BinaryValue returns b as a B.
func BinaryValue(b []byte) Value {
	raw := make([]byte, 0, base64.StdEncoding.EncodedLen(len(b)))
	return Value{raw: base64.StdEncoding.AppendEncode(raw, b), kind: KindB}
}

// BoolValue returns b as a BOOL.
func BoolValue(b bool) Value {
	if b {
		return Value{raw: []byte("true"), kind: KindBOOL}
	}
	return Value{raw: []byte("false"), kind: KindBOOL}
}

// NullValue returns a NULL.
func NullValue() Value { return Value{raw: []byte("true"), kind: KindNULL} }

// Clone returns a copy of v that does not refer to its page, so that the page can be freed.
func (v Value) Clone() Value {
	v.raw = bytes.Clone(v.raw)
	return v
}
