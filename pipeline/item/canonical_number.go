package item

// isCanonical tells whether the text of a number is the canonical one, that of
// [decimal.Decimal.Append]: so a service writes numbers, and so two of them that are spelt
// differently are different.
func isCanonical(text []byte) bool {
	ok, _, _ := measure(text)
	return ok
}

// measure tells whether the text of a checked N is canonical, and then how many
// digits it has, and how many of them behind the point.
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
