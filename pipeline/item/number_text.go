package item

// isCanonical reports whether text is the canonical text of a number, as [decimal.Decimal.Append] writes it. DynamoDB
// writes canonical texts, too. Two different canonical texts are different numbers.
func isCanonical(text []byte) bool {
	ok, _, _ := canonicalDigits(text)
	return ok
}

// canonicalDigits reports whether the text of a checked N is canonical. If it is, digits is the number of all its
// digits, and fraction the number of its digits after the point. If it is not, both are 0.
func canonicalDigits(text []byte) (canonical bool, digits, fraction int) {
	first := 0
	if len(text) > 0 && text[0] == '-' {
		first = 1
	}
	point := digitsEnd(text, first)
	whole := point - first
	if whole == 0 {
		return false, 0, 0
	}
	isZero := text[first] == '0'
	if isZero && whole > 1 {
		return false, 0, 0
	}
	if point == len(text) {
		isMinusZero := isZero && first > 0
		return !isMinusZero, whole, 0
	}
	end := digitsEnd(text, point+1)
	fraction = end - point - 1
	if text[point] != '.' || end != len(text) || fraction == 0 || text[end-1] == '0' {
		return false, 0, 0
	}
	return true, whole + fraction, fraction
}

// digitsEnd returns the index of the first byte from i on that is not a digit.
func digitsEnd(text []byte, i int) int {
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	return i
}
