package sqlite

import (
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// The first byte of keys that are not strings.
const (
	numberKey = 1
	binaryKey = 2
)

// keyColumn returns a key value as its column stores it: different for different values, and in DynamoDB's order
// for values of one type. A string is TEXT. A number and a binary are BLOBs. A missing sort key is the empty text.
func keyColumn(v item.Value) any {
	switch v.Kind() {
	case item.KindN:
		d, _ := v.Number()
		return sortableNumber(d)
	case item.KindB:
		b, _ := v.Bytes()
		return append([]byte{binaryKey}, b...)
	default:
		text, _ := v.Text()
		return text
	}
}

// sortableNumber returns a decimal as bytes that sort as the decimal does: sign, exponent of the first digit,
// digits. For a negative number exponent and digits are inverted and end with a byte above all digits, so that -1.5
// comes before -1.
func sortableNumber(d decimal.Decimal) []byte {
	const (
		negative, zero, positive = 0, 1, 2
		bias                     = 1 << 14
	)
	if d.Sign() == 0 {
		return []byte{numberKey, zero}
	}
	digits, exp := d.Digits()
	e := exp + bias
	if d.Sign() > 0 {
		return append([]byte{numberKey, positive, byte(e >> 8), byte(e)}, digits...)
	}
	b := []byte{numberKey, negative, ^byte(e >> 8), ^byte(e)}
	for i := range len(digits) {
		b = append(b, ^digits[i])
	}
	return append(b, 0xff)
}
