package search

import (
	"bytes"
	"strconv"

	"github.com/tablewake/tablewake/pipeline/decimal"
)

// Number selects how a number of an item is written into a document. DynamoDB's numbers are exact to 38 digits. A
// search index keeps a decimal as a double, which is exact to 15 digits, and JavaScript reads any JSON number as a
// double.
type Number string

const (
	// NumberExact is the default. It keeps all digits. An integer is a JSON integer with all its digits. A decimal of
	// at most 15 significant digits is a JSON number, since a double keeps that many. A longer decimal is a JSON
	// string. An index that maps the field to a number parses the string for range queries, and the document shows
	// every digit.
	NumberExact Number = ""

	// NumberString writes every number of the field as a JSON string.
	NumberString Number = "string"

	// NumberScaledFloat writes every number of the field as a JSON number with all its digits. It is for a mapping of
	// type scaled_float. The mapping decides how many digits the index keeps.
	NumberScaledFloat Number = "scaled_float"

	// NumberDouble writes the nearest double. The digits that a double cannot keep are lost on purpose. Integers keep
	// all digits.
	NumberDouble Number = "double"
)

func (n Number) isKnown() bool {
	return n == NumberExact || n == NumberString || n == NumberScaledFloat || n == NumberDouble
}

// appendNumber appends d in the form n.
func appendNumber(dst []byte, d decimal.Decimal, n Number) []byte {
	var buffer [64]byte
	text := d.Append(buffer[:0])
	isInteger := !bytes.Contains(text, []byte{'.'})
	losesDigits := !isInteger && significantDigits(text) > doubleDigits
	switch {
	case n == NumberString, n == NumberExact && losesDigits:
		dst = append(dst, '"')
		dst = append(dst, text...)
		return append(dst, '"')
	case n == NumberDouble && !isInteger:
		return strconv.AppendFloat(dst, d.Float64(), 'g', -1, 64)
	}
	return append(dst, text...)
}

// doubleDigits is the number of significant digits that every double keeps.
const doubleDigits = 15

// significantDigits returns the number of digits of a canonical decimal without leading zeros.
func significantDigits(text []byte) (digits int) {
	for _, c := range text {
		isDigit := '0' <= c && c <= '9'
		isLeadingZero := c == '0' && digits == 0
		if isDigit && !isLeadingZero {
			digits++
		}
	}
	return digits
}
