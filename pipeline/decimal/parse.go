package decimal

// The errors of a number. Their texts do not show the number, because it may be data of an item, and errors are logged.
var (
	errSyntax = errs.New("not a number")
	errDigits = errs.New("a number of more than 38 significant digits")
	errLarge  = errs.New("a number too large for DynamoDB, which ends at 9.99...E+125")
	errSmall  = errs.New("a number too close to zero for DynamoDB, which ends at 1E-130")
)

// Parse reads a number in DynamoDB's syntax: an optional sign, digits with an optional point, an optional exponent. It
// does not allocate. It returns an error if the syntax is invalid, if there are more than 38 significant digits, or if
// the magnitude is out of range. Leading and trailing zeros are not significant. The error does not show s.
func Parse[T string | []byte](s T) (Decimal, error) {
	var (
		c          uint128 // coefficient, without trailing zeros
		n          int     // significant digits in c
		zeros      int     // zeros after these digits that are not in c yet, because another digit may follow
		fraction   int     // digits after the point
		hasDigits  bool    // at least one digit was read
		hasPoint   bool    // the point was read
		i          int
		isNegative bool
		isTooLong  bool
	)
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		isNegative = s[i] == '-'
		i++
	}
	for ; i < len(s); i++ {
		b := s[i]
		if b == '.' && !hasPoint {
			hasPoint = true
			continue
		}
		if b < '0' || b > '9' {
			break
		}
		hasDigits = true
		if hasPoint {
			fraction++
		}
		if b == '0' {
			if n > 0 {
				zeros++
			}
			continue
		}
		n += zeros + 1
		if n > MaxDigits {
			isTooLong = true // the syntax of the rest must still be checked
			continue
		}
		if zeros == 0 && n < maxPow10 { // most numbers need only this
			c.lo = c.lo*10 + uint64(b-'0')
			continue
		}
		c = c.push(zeros, uint64(b-'0'))
		zeros = 0
	}
	if !hasDigits {
		return Decimal{}, errSyntax
	}
	exp := zeros - fraction
	if i < len(s) {
		e, ok := scanExponent(s[i:])
		if !ok {
			return Decimal{}, errSyntax
		}
		exp += e
	}
	if isTooLong {
		return Decimal{}, errDigits
	}
	if n == 0 {
		return Decimal{}, nil
	}
	magnitude := exp + n - 1
	if magnitude > maxMagnitude {
		return Decimal{}, errLarge
	}
	if magnitude < minMagnitude {
		return Decimal{}, errSmall
	}
	return Decimal{hi: c.hi, lo: c.lo, exp: int16(exp), neg: isNegative}, nil
}

// scanExponent reads an exponent: e or E, an optional sign, digits. It limits the exponent to a billion, because a
// number with such an exponent is out of range or zero. It returns false if the syntax is invalid.
func scanExponent[T string | []byte](s T) (int, bool) {
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	i, isNegative := 1, false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		isNegative = s[i] == '-'
		i++
	}
	if i == len(s) {
		return 0, false
	}
	e := 0
	for ; i < len(s); i++ {
		b := s[i]
		if b < '0' || b > '9' {
			return 0, false
		}
		e = min(e*10+int(b-'0'), 1_000_000_000)
	}
	if isNegative {
		e = -e
	}
	return e, true
}
