package state

import (
	"encoding/hex"
	"strings"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// The first letter of a sortable text is the kind of the value.
const (
	sortsText, sortsNumber, sortsBinary, sortsBool = "a", "b", "c", "d"
)

// The second letter of the text of a number is its sign.
const (
	sortsNegative, sortsZero, sortsPositive = "0", "1", "2"
)

// exponentBias makes every exponent of a number positive, with exponentDigits digits.
const (
	exponentBias   = 500
	exponentDigits = 3
)

// SortableText returns a value as text. Equal values have equal texts, and the texts sort by their
// bytes as the values do: S before N before B before BOOL, S and B by their bytes, N by number.
// It returns false for a value of another kind. [ParseSortable] is the inverse.
func SortableText(v item.Value) (string, bool) {
	switch v.Kind() {
	case item.KindS:
		text, _ := v.Text()
		return sortsText + text, true
	case item.KindN:
		d, ok := v.Number()
		return sortsNumber + sortableNumber(d), ok
	case item.KindB:
		b, ok := v.Bytes()
		return sortsBinary + hex.EncodeToString(b), ok
	case item.KindBOOL:
		if yes, _ := v.Bool(); yes {
			return sortsBool + "1", true
		}
		return sortsBool + "0", true
	}
	return "", false
}

// sortableNumber returns the sign, the exponent of the first digit, and the digits. The exponent and
// the digits of a negative number are inverted and followed by ~, which is above any digit, so that
// -1.5 sorts before -1.
func sortableNumber(d decimal.Decimal) string {
	if d.Sign() == 0 {
		return sortsZero
	}
	digits, exp := d.Digits()
	e := exp + exponentBias
	b := []byte{byte('0' + e/100), byte('0' + e/10%10), byte('0' + e%10)}
	b = append(b, digits...)
	if d.Sign() > 0 {
		return sortsPositive + string(b)
	}
	for i := range b {
		b[i] = '0' + '9' - b[i]
	}
	return sortsNegative + string(b) + "~"
}

var errNotSortable = errs.New("not the text of a sortable value")

// ParseSortable returns the value of a text that [SortableText] returned.
func ParseSortable(text string) (item.Value, error) {
	if text == "" {
		return item.Value{}, errNotSortable
	}
	kind, rest := text[:1], text[1:]
	switch kind {
	case sortsText:
		return item.StringValue(rest), nil
	case sortsNumber:
		return unsortedNumber(rest)
	case sortsBinary:
		b, err := hex.DecodeString(rest)
		return item.BinaryValue(b), err
	case sortsBool:
		return item.BoolValue(rest == "1"), nil
	}
	return item.Value{}, errNotSortable
}

func unsortedNumber(text string) (item.Value, error) {
	if text == sortsZero {
		return item.NumberValue(decimal.Of(0)), nil
	}
	if len(text) < 2+exponentDigits {
		return item.Value{}, errNotSortable
	}
	b, sign := []byte(text[1:]), ""
	if text[:1] == sortsNegative {
		sign, b = "-", b[:len(b)-1]
		for i := range b {
			b[i] = '0' + '9' - b[i]
		}
	}
	exp := int(b[0]-'0')*100 + int(b[1]-'0')*10 + int(b[2]-'0') - exponentBias
	digits := string(b[exponentDigits:])
	switch {
	case exp <= 0:
		digits = "0." + strings.Repeat("0", -exp) + digits
	case exp >= len(digits):
		digits += strings.Repeat("0", exp-len(digits))
	default:
		digits = digits[:exp] + "." + digits[exp:]
	}
	d, err := decimal.Parse(sign + digits)
	return item.NumberValue(d), err
}
