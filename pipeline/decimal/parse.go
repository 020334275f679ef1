package decimal

// What may be wrong with a number. The texts don't quote it: it may be data of an
// item, and errors are logged.
var (
	errSyntax = errs.New("not a number")
	errDigits = errs.New("a number of more than 38 significant digits")
	errLarge  = errs.New("a number too large for DynamoDB, which ends at 9.99...E+125")
	errSmall  = errs.New("a number too close to zero for DynamoDB, which ends at 1E-130")
)

// Parse reads a number as DynamoDB takes it: an optional sign, digits with an optional point, an optional exponent. It
// does not allocate. The error says what is wrong, without showing s: the syntax, more than 38 significant digits
// (leading and trailing zeros do not count), or a magnitude outside the range.
//
// Zeros are held back until a digit follows them, so the coefficient is canonical.
func Parse[T string | []byte](s T) (Decimal, error) {
	var (
		c        uint128
		n        int  // significant digits in c
		zeros    int  // held back behind them
		fraction int  // digits behind the point
		seen     bool // a digit
		point    bool
		i        int
		neg      bool
		tooLong  bool
	)
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	for ; i < len(s); i++ {
		b := s[i]
		if b == '.' && !point {
			point = true
			continue
		}
		if b < '0' || b > '9' {
			break
		}
		seen = true
		if point {
			fraction++
		}
		switch {
		case b != '0':
			if n += zeros + 1; n > MaxDigits {
				tooLong = true // the syntax behind is still to be checked
				break
			}
			if zeros == 0 && n < maxPow10 { // as nearly all are
				c.lo = c.lo*10 + uint64(b-'0')
				break
			}
			c = c.push(zeros, uint64(b-'0'))
			zeros = 0
		case n > 0:
			zeros++
		}
	}
	if !seen {
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
	if tooLong {
		return Decimal{}, errDigits
	}
	if n == 0 {
		return Decimal{}, nil
	}
	switch magnitude := exp + n - 1; {
	case magnitude > maxMagnitude:
		return Decimal{}, errLarge
	case magnitude < minMagnitude:
		return Decimal{}, errSmall
	}
	return Decimal{hi: c.hi, lo: c.lo, exp: int16(exp), neg: neg}, nil
}

// scanExponent reads what follows the digits: e or E, an optional sign, digits.
// Beyond a billion it stops counting: the magnitude is out of range by then, and
// no text is long enough to bring it back.
func scanExponent[T string | []byte](s T) (int, bool) {
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	i, neg := 1, false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
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
	if neg {
		e = -e
	}
	return e, true
}
