package expr

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/tablewake/tablewake/pipeline/decimal"
)

// number is an exact decimal that does not fit int64. Numbers that fit are types.Int. To CEL's checker, both have the
// type int, so that both kinds of literals can be compared with any number. Two numbers are equal if and only if they
// are equal by Go's ==.
type number struct {
	notNative
	d decimal.Decimal
}

var _ ref.Val = number{}

// numberOf returns d as a types.Int if it fits, and as a number otherwise.
func numberOf(d decimal.Decimal) ref.Val {
	if i, ok := d.Int64(); ok {
		return types.Int(i)
	}
	return number{d: d}
}

// decimalOf returns the value of a types.Int or a number. It returns false for other values.
func decimalOf(v ref.Val) (decimal.Decimal, bool) {
	switch n := v.(type) {
	case types.Int:
		return decimal.Of(int64(n)), true
	case number:
		return n.d, true
	default:
		return decimal.Decimal{}, false
	}
}

// Type implements [ref.Val].
func (n number) Type() ref.Type { return types.IntType }

// Value implements [ref.Val].
func (n number) Value() any { return n.d }

// Equal implements [ref.Val]. A number never equals an int, because numberOf returns an int if possible.
func (n number) Equal(other ref.Val) ref.Val {
	o, ok := other.(number)
	return boolValue(ok && n == o)
}

// ConvertToType implements [ref.Val].
func (n number) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.IntType:
		return n
	case types.StringType:
		return types.String(n.d.String())
	default:
		return fail("N cannot become %s", t.TypeName())
	}
}

// parseNumber parses the text of a number.
func parseNumber(text string) (ref.Val, error) {
	d, err := decimal.Parse(text)
	if err != nil {
		return nil, err
	}
	return numberOf(d), nil
}

// add returns the exact sum of two numbers, or an error of CEL if the sum has more than 38 digits. It returns false if
// one of the values is not a number.
func add(a, b ref.Val) (ref.Val, bool) {
	x, isX := decimalOf(a)
	y, isY := decimalOf(b)
	if !isX || !isY {
		return nil, false
	}
	sum, err := x.Add(y)
	if err != nil {
		return fail("the sum of two numbers has more than 38 digits"), true
	}
	return numberOf(sum), true
}

// negate returns -v. It returns false if v is not a number.
func negate(v ref.Val) (ref.Val, bool) {
	d, ok := decimalOf(v)
	if !ok {
		return nil, false
	}
	return numberOf(d.Neg()), true
}
