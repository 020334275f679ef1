package pipeline

import "iter"

// Kind is the DynamoDB type of a [Value]. The zero Kind means that there is no
// value: an attribute that is absent.
type Kind uint8

// The ten DynamoDB attribute types.
const (
	Absent Kind = iota
	KindS
	KindN
	KindB
	KindBOOL
	KindNULL
	KindM
	KindL
	KindSS
	KindNS
	KindBS
)

// String is the DynamoDB type tag ("S", "NS", ...), or "absent".
func (k Kind) String() string { return "" }

// Value is one attribute value: a range of a page's bytes and its type. The
// zero Value is absent. Values are immutable and safe for concurrent use.
type Value struct {
	raw  []byte
	kind Kind
}

func (v Value) Kind() Kind                           { panic("decode") }
func (v Value) Exists() bool                         { panic("decode") } // Kind() != Absent
func (v Value) IsNull() bool                         { panic("decode") }
func (v Value) Text() (string, bool)                 { panic("decode") } // S
func (v Value) Number() (Decimal, bool)              { panic("decode") } // N
func (v Value) Int64() (int64, bool)                 { panic("decode") } // N that is integral and fits
func (v Value) Float64() (float64, bool)             { panic("decode") } // N, nearest
func (v Value) Bool() (bool, bool)                   { panic("decode") } // BOOL
func (v Value) Bytes() ([]byte, bool)                { panic("decode") } // B, decoded
func (v Value) Len() int                             { panic("decode") } // members of M, L and sets; bytes of S and B; else 0
func (v Value) Get(name string) (Value, bool)        { panic("decode") } // member of M
func (v Value) Index(i int) (Value, bool)            { panic("decode") } // element of L or of a set (as S, N or B)
func (v Value) Lookup(path string) (Value, bool)     { panic("decode") }
func (v Value) Members() iter.Seq2[string, Value]    { panic("decode") } // of M
func (v Value) Elements() iter.Seq2[int, Value]      { panic("decode") } // of L and sets
func (v Value) Equal(w Value) bool                   { panic("decode") } // by meaning
func (v Value) Clone() Value                         { panic("decode") } // own bytes
func (v Value) AppendDynamoDBJSON(dst []byte) []byte { panic("decode") } // {"S":"x"}
func (v Value) AppendJSON(dst []byte) []byte         { panic("decode") } // plain JSON; N as a JSON number in full, B base64, sets as arrays
func (v Value) String() string                       { panic("decode") } // DynamoDB JSON, for people

// Constructors for values that no page holds.
func StringValue(s string) Value  { panic("decode") }
func NumberValue(d Decimal) Value { panic("decode") }
func BinaryValue(b []byte) Value  { panic("decode") }
func BoolValue(b bool) Value      { panic("decode") }
func NullValue() Value            { panic("decode") }

// ParseValue reads one DynamoDB JSON value, as {"S":"x"}, and checks it whole.
func ParseValue(b []byte) (Value, error) { panic("decode") }
