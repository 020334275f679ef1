package item

// isCanonical reports whether text is the canonical text of a number, as [decimal.Decimal.Append] writes it. DynamoDB
// writes canonical texts, too. Two different canonical texts are different numbers.
func isCanonical(text []byte) bool {
	ok, _, _ := measure(text)
	return ok
}

// measure reports whether the text of a checked N is canonical. If it is, digits is the number of all its digits, and
// fraction the number of its digits after the point. If it is not, both are 0.
func measure(text []byte) (canonical bool, digits, fraction int) {
	i := 0
	if i < len(text) && text[i] == '-' {
		i++
	}
	first := i
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	digits = i - first
	if digits == 0 || text[first] == '0' && digits > 1 {
		return false, 0, 0
	}
	if i == len(text) {
		return text[first] != '0' || first == 0, digits, 0 // there is no -0
	}
	if text[i] != '.' {
		return false, 0, 0
	}
	point := i
	for i++; i < len(text) && text[i]-'0' <= 9; i++ {
	}
	fraction = i - point - 1
	if i != len(text) || fraction == 0 || text[i-1] == '0' {
		return false, 0, 0
	}
	return true, digits + fraction, fraction
}
