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
	i, isNegative := 0, false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		i, isNegative = 1, s[0] == '-'
	}
	start, point := i, -1   // point is the index of the point; -1 if there is none
	var coefficient uint128 // without leading and trailing zeros; unset if digits is above MaxDigits
	digits, zeros := 0, 0   // digits of the coefficient, and zeros after them, which another digit makes significant
	for ; i < len(s); i++ {
		b := s[i]
		if b == '.' && point < 0 {
			point = i
			continue
		}
		if b-'0' > 9 {
			break
		}
		if b == '0' {
			if digits > 0 {
				zeros++
			}
			continue
		}
		digits += zeros + 1
		if zeros == 0 && digits < maxPow10 { // most numbers need only this
			coefficient.lo = coefficient.lo*10 + uint64(b-'0')
		} else if digits <= MaxDigits {
			coefficient = coefficient.push(zeros, uint64(b-'0'))
		}
		zeros = 0
	}
	// Zeros at the end are not in the coefficient, and digits after the point are.
	scanned, exp := i-start, zeros
	if point >= 0 {
		scanned--
		exp -= i - point - 1
	}
	if scanned == 0 {
		return Decimal{}, errSyntax
	}
	if i < len(s) {
		e, ok := scanExponent(s[i:])
		if !ok {
			return Decimal{}, errSyntax
		}
		exp += e
	}
	if digits > MaxDigits {
		return Decimal{}, errDigits
	}
	if digits == 0 {
		return Decimal{}, nil
	}
	if err := checkMagnitude(exp + digits - 1); err != nil {
		return Decimal{}, err
	}
	return Decimal{hi: coefficient.hi, lo: coefficient.lo, exp: int16(exp), neg: isNegative}, nil
}

// checkMagnitude returns an error if the exponent of a number's first digit is out of DynamoDB's range.
func checkMagnitude(magnitude int) error {
	if magnitude > maxMagnitude {
		return errLarge
	}
	if magnitude < minMagnitude {
		return errSmall
	}
	return nil
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
