package sqlite

import (
	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// The first byte of a key that is not a string.
const (
	numberKey = 1
	binaryKey = 2
)

// keyColumn returns the column value for the value v of a key attribute. Different values of v have different column
// values. The values of one type sort as in DynamoDB. A string is TEXT. A number and a binary are BLOBs. A missing sort
// key is the empty text.
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

// sortableNumber returns a decimal as bytes. The bytes sort in the order of the numbers. They are the sign, the
// exponent of the first digit, and the digits. For a negative number, exponent and digits are inverted, and a byte
// above all digits follows, so that -1.5 sorts before -1.
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
