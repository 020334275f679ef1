package decimal

import "strconv"

// The first byte of a sortable text is the sign of the number.
const (
	sortsNegative, sortsZero, sortsPositive = '0', '1', '2'
)

// The last byte of a sortable text follows the digits. For a positive number it is below any digit, so that 1.5 sorts
// before 1.51. For a negative number it is above any digit, so that -1.5 sorts after -1.51.
const (
	endsPositive, endsNegative = '-', '~'
)

// exponentBias is added to an exponent, so that the sum is positive and has exponentDigits digits.
const (
	exponentBias   = 500
	exponentDigits = 3
)

// AppendSortable appends a text of d to dst. Equal numbers have equal texts. The texts sort by their bytes as the
// numbers do, even if other text follows. [ParseSortable] is the inverse.
//
// Zero is "1". A positive number is "2", a biased exponent in three digits, its digits, and "-". The biased exponent is
// the number of digits before the point, plus 500: 12.5 is "2502125-". A negative number is "0", the exponent and the
// digits with each digit subtracted from 9, and "~": -12.5 is "0497874~".
func (d Decimal) AppendSortable(dst []byte) []byte {
	switch d.Sign() {
	case 0:
		return append(dst, sortsZero)
	case 1:
		return append(d.appendMagnitude(append(dst, sortsPositive)), endsPositive)
	}
	dst = append(dst, sortsNegative)
	start := len(dst)
	dst = d.appendMagnitude(dst)
	subtractFrom9(dst[start:])
	return append(dst, endsNegative)
}

// appendMagnitude appends the biased exponent and the digits.
func (d Decimal) appendMagnitude(dst []byte) []byte {
	e := d.magnitude() + 1 + exponentBias
	dst = append(dst, byte('0'+e/100), byte('0'+e/10%10), byte('0'+e%10))
	return d.coefficient().append(dst)
}

// subtractFrom9 replaces each digit d by the digit 9 - d.
func subtractFrom9(digits []byte) {
	for i := range digits {
		digits[i] = '0' + '9' - digits[i]
	}
}

var errNotSortable = errs.New("not the sortable text of a number")

// ParseSortable parses a text that [Decimal.AppendSortable] appended.
func ParseSortable(text string) (Decimal, error) {
	if text == string(sortsZero) {
		return Decimal{}, nil
	}
	if len(text) < 1+exponentDigits+2 {
		return Decimal{}, errNotSortable
	}
	first, last := text[0], text[len(text)-1]
	isPositive := first == sortsPositive && last == endsPositive
	isNegative := first == sortsNegative && last == endsNegative
	if !isPositive && !isNegative {
		return Decimal{}, errNotSortable
	}
	magnitude, sign := []byte(text[1:len(text)-1]), ""
	if isNegative {
		subtractFrom9(magnitude)
		sign = "-"
	}
	for _, c := range magnitude {
		if c < '0' || c > '9' {
			return Decimal{}, errNotSortable
		}
	}
	biased, _ := strconv.Atoi(string(magnitude[:exponentDigits]))
	return Parse(sign + "0." + string(magnitude[exponentDigits:]) + "e" + strconv.Itoa(biased-exponentBias))
}
