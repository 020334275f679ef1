package item

import (
	"encoding/base64"
	"iter"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// Kind is the DynamoDB type of a [Value]. The zero Kind means that there is no
// value: an attribute that is absent.
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

// Value is one attribute value: a range of a page's bytes and its type. The
// zero Value is absent. Values are immutable and safe for concurrent use.
//
// Every value has been checked whole when it was decoded, so a getter fails for
// one reason only: the value is of another kind. Texts without escapes are ranges
// of the page; others, binaries and decimals are built at each call.
type Value struct {
	raw  []byte // of S, N, B what stands between the quotes; else the JSON of what the tag stands for
	kind Kind
}

// Raw is the value of these checked bytes, which it takes over: see [Value.Raw].
func Raw(kind Kind, raw []byte) Value { return Value{raw: raw, kind: kind} }

// Raw are the bytes of v in the page: of an S, N or B what is between its quotes, with escapes; of any other kind
// the JSON that its tag stands for. They are not to be changed.
func (v Value) Raw() []byte { return v.raw }

// Kind is the type of v, Absent for the zero Value.
func (v Value) Kind() Kind { return v.kind }

// Exists tells whether there is a value. A NULL exists.
func (v Value) Exists() bool { return v.kind != Absent }

// IsNull tells whether v is a NULL.
func (v Value) IsNull() bool { return v.kind == KindNULL }

// Text is the text of an S; it may be empty. False for any other kind.
func (v Value) Text() (string, bool) {
	if v.kind != KindS {
		return "", false
	}
	return ddbjson.View(ddbjson.TextOf(v.raw)), true
}

// Number is the exact value of an N. False for any other kind.
func (v Value) Number() (decimal.Decimal, bool) {
	if v.kind != KindN {
		return decimal.Decimal{}, false
	}
	return ddbjson.DecimalOf(v.raw), true
}

// Int64 is the value of an N that is integral and fits. False for any other.
func (v Value) Int64() (int64, bool) {
	d, ok := v.Number()
	if !ok {
		return 0, false
	}
	return d.Int64()
}

// Float64 is the float64 nearest to an N. False for any other kind.
func (v Value) Float64() (float64, bool) {
	d, ok := v.Number()
	if !ok {
		return 0, false
	}
	return d.Float64(), true
}

// Bool is the value of a BOOL. False for any other kind.
func (v Value) Bool() (value, ok bool) {
	return v.kind == KindBOOL && v.raw[0] == 't', v.kind == KindBOOL
}

// Bytes are the bytes of a B, decoded into memory of their own; they may be
// empty. False for any other kind.
func (v Value) Bytes() ([]byte, bool) {
	if v.kind != KindB {
		return nil, false
	}
	raw := ddbjson.TextOf(v.raw)
	b := make([]byte, 0, base64.StdEncoding.DecodedLen(len(raw)))
	b, _ = base64.StdEncoding.AppendDecode(b, raw)
	return b, true
}

// Len is the number of members of an M, an L or a set, or of bytes of an S or a B;
// else 0.
func (v Value) Len() int {
	n := 0
	switch v.kind {
	case KindS:
		n = ddbjson.TextLen(v.raw)
	case KindB:
		raw := ddbjson.TextOf(v.raw)
		n = base64.StdEncoding.DecodedLen(len(raw))
		for len(raw) > 0 && raw[len(raw)-1] == '=' {
			raw = raw[:len(raw)-1]
			n--
		}
	case KindM:
		EachMember(v.raw, func([]byte, Value) bool { n++; return true })
	case KindL, KindSS, KindNS, KindBS:
		EachElement(v.raw, v.kind, func(Value) bool { n++; return true })
	}
	return n
}

// Get is the member of an M by its name. False when there is none, or v is no M.
func (v Value) Get(name string) (Value, bool) {
	var found Value
	if v.kind == KindM {
		EachMember(v.raw, func(raw []byte, m Value) bool {
			if string(raw) == name || len(raw) > len(name) {
				raw = ddbjson.TextOf(raw)
			}
			if string(raw) == name {
				found = m
			}
			return !found.Exists()
		})
	}
	return found, found.Exists()
}

// Index is element i of an L, from 0, or member i of a set as an S, N or B, in the
// order of the page. False when there is none, or v is neither.
func (v Value) Index(i int) (Value, bool) {
	var found Value
	if v.isList() && i >= 0 {
		EachElement(v.raw, v.kind, func(e Value) bool {
			if i--; i < 0 {
				found = e
			}
			return i >= 0
		})
	}
	return found, found.Exists()
}

// Lookup is the value at a path below v, such as Lines[0].sku or [0].sku. False
// when there is none, or the path is unsound; see [ParsePath].
func (v Value) Lookup(path string) (Value, bool) {
	return lookup(v, path)
}

// Members are the members of an M, in the order of the page. Any other kind has none.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.kind != KindM {
			return
		}
		EachMember(v.raw, func(raw []byte, m Value) bool { return yield(ddbjson.View(ddbjson.TextOf(raw)), m) })
	}
}

// Elements are the elements of an L, or the members of a set as S, N or B, in the
// order of the page. Any other kind has none.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if !v.isList() {
			return
		}
		i := -1
		EachElement(v.raw, v.kind, func(e Value) bool { i++; return yield(i, e) })
	}
}

// isList tells whether v has elements: an L or a set.
func (v Value) isList() bool { return v.kind == KindL || v.kind >= KindSS }

// ParseValue reads one DynamoDB JSON value, as {"S":"x"}, and checks it whole. It
// takes b over. The error has the offset and the path, and shows no data.
func ParseValue(b []byte) (Value, error) {
	s := ddbjson.Scanner{B: b}
	i := s.Space(0)
	tag, from, to, next := s.Value(i, 0)
	if next >= 0 {
		if next = s.Space(next); next == len(b) {
			return Value{raw: b[from:to:to], kind: Kind(tag)}, nil
		}
		s.Fail(next, ddbjson.ErrTrailing)
	}
	return Value{}, s.Failure(ddbjson.InValue)
}
