package expr

import (
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/tablewake/tablewake/pipeline"
)

// number is an exact decimal that is no int64: those are types.Int. To the checker
// both are ints, so that a literal of either kind fits wherever a number does.
// It is comparable, and equal by == to equal numbers.
type number struct{ d pipeline.Decimal }

var _ ref.Val = number{}

// numberOf is d as an int where it fits, else as a decimal.
func numberOf(d pipeline.Decimal) ref.Val {
	if i, ok := d.Int64(); ok {
		return types.Int(i)
	}
	return number{d}
}

// decimalOf is the number that v is.
func decimalOf(v ref.Val) (pipeline.Decimal, bool) {
	switch n := v.(type) {
	case types.Int:
		return pipeline.DecimalOf(int64(n)), true
	case number:
		return n.d, true
	default:
		return pipeline.Decimal{}, false
	}
}

// Type implements [ref.Val].
func (n number) Type() ref.Type { return types.IntType }

// Value implements [ref.Val].
func (n number) Value() any { return n.d }

// Equal implements [ref.Val]. An int is never equal: numberOf makes no decimal of it.
func (n number) Equal(other ref.Val) ref.Val {
	o, ok := other.(number)
	return boolean(ok && n == o)
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

// ConvertToNative implements [ref.Val].
func (n number) ConvertToNative(reflect.Type) (any, error) {
	return nil, errs.New("a number has no native form")
}

// parseNumber reads the text of a number.
func parseNumber(text string) (ref.Val, error) {
	d, err := pipeline.ParseDecimal(text)
	if err != nil {
		return nil, err
	}
	return numberOf(d), nil
}

// add is the exact sum of two numbers; false where they are none.
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

// negate is -v; false where v is no number.
func negate(v ref.Val) (ref.Val, bool) {
	d, ok := decimalOf(v)
	if !ok {
		return nil, false
	}
	return numberOf(d.Neg()), true
}
