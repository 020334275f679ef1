package decimal

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Decimal is an exact number in DynamoDB's range: zero, or a number with up to 38 significant digits and a magnitude
// from 1E-130 to 9.9...E+125. The zero Decimal is 0. Two equal numbers are equal by ==, because the coefficient has no
// trailing zeros.
//
// Only Float64 rounds. If a result does not fit, the other methods return an error or false.
type Decimal struct {
	hi, lo uint64 // coefficient, below 10^38
	exp    int16  // value = ±coefficient × 10^exp
	neg    bool
}

// DynamoDB's limits: Developer Guide, "Supported data types and naming rules", Number.
const (
	MaxDigits    = 38
	minMagnitude = -130 // exponent of the first digit
	maxMagnitude = 125
)

// Of returns i as a Decimal.
func Of(i int64) Decimal {
	u := uint64(i)
	if i < 0 {
		u = -u
	}
	d := Decimal{lo: u, neg: i < 0}
	d.canonicalize()
	return d
}

// Cmp returns -1, 0 or 1 if d is less than, equal to or greater than e.
func (d Decimal) Cmp(e Decimal) int {
	sign, otherSign := d.Sign(), e.Sign()
	if sign != otherSign {
		return cmp.Compare(sign, otherSign)
	}
	if sign == 0 {
		return 0
	}
	shift := int(d.exp) - int(e.exp)
	areShort := d.hi == 0 && e.hi == 0 && -maxPow10 <= shift && shift <= maxPow10
	if areShort {
		// This branch compares most numbers. Scaled to the lower exponent, both coefficients fit into 128 bits.
		scaledD, scaledE := uint128{lo: d.lo}, uint128{lo: e.lo}
		if shift > 0 {
			scaledD.hi, scaledD.lo = bits.Mul64(d.lo, pow10[shift])
		} else {
			scaledE.hi, scaledE.lo = bits.Mul64(e.lo, pow10[-shift])
		}
		return sign * scaledD.cmp(scaledE)
	}
	if c := cmp.Compare(d.magnitude(), e.magnitude()); c != 0 {
		return sign * c
	}
	// The magnitudes are equal. So, scaled to the lower exponent, neither coefficient needs more than 38 digits.
	exp := min(d.exp, e.exp)
	scaledD, _ := d.coefficient().timesPow10(int(d.exp - exp))
	scaledE, _ := e.coefficient().timesPow10(int(e.exp - exp))
	return sign * scaledD.cmp(scaledE)
}

// Add returns d + e. It returns an error if the sum needs more than 38 digits or is outside of DynamoDB's range. The
// error shows neither d nor e.
func (d Decimal) Add(e Decimal) (Decimal, error) {
	if d.Sign() == 0 {
		return e, nil
	}
	if e.Sign() == 0 {
		return d, nil
	}
	high, low := d, e
	if high.exp < low.exp {
		high, low = low, high
	}
	// The sum has the exponent of low, so high is scaled to this exponent. 128 bits hold numbers up to 3.4 × 10^38, and
	// low is below 10^38. So if high overflows 128 bits, the sum has more than 38 digits.
	scaledHigh, ok := high.coefficient().timesPow10(int(high.exp - low.exp))
	if !ok {
		return Decimal{}, addError(errDigits)
	}
	sum, isNegative, ok := addSigned(scaledHigh, high.neg, low.coefficient(), low.neg)
	if !ok {
		return Decimal{}, addError(errDigits)
	}
	result := Decimal{hi: sum.hi, lo: sum.lo, exp: low.exp, neg: isNegative}
	result.canonicalize()
	if err := result.check(); err != nil {
		return Decimal{}, addError(err)
	}
	return result, nil
}

// addSigned adds two coefficients with their signs. It returns false if the sum overflows.
func addSigned(a uint128, aNegative bool, b uint128, bNegative bool) (sum uint128, isNegative, ok bool) {
	if aNegative == bNegative {
		sum, ok = a.add(b)
		return sum, aNegative, ok
	}
	if a.cmp(b) >= 0 {
		return a.sub(b), aNegative, true
	}
	return b.sub(a), bNegative, true
}

// Neg returns -d.
func (d Decimal) Neg() Decimal {
	d.neg = !d.neg && d.Sign() != 0
	return d
}

// Sign returns -1, 0 or 1 if d is negative, zero or positive.
func (d Decimal) Sign() int {
	switch {
	case d.hi|d.lo == 0:
		return 0
	case d.neg:
		return -1
	default:
		return 1
	}
}

// Int64 returns d as an integer, or false if d has a fraction or does not fit into an int64.
func (d Decimal) Int64() (int64, bool) {
	if d.exp < 0 || d.exp > 18 {
		return 0, false
	}
	c, ok := d.coefficient().timesPow10(int(d.exp))
	if !ok || c.hi != 0 {
		return 0, false
	}
	if d.neg && c.lo <= 1<<63 {
		return -int64(c.lo), true // -(1<<63) is itself
	}
	if c.lo > math.MaxInt64 {
		return 0, false
	}
	return int64(c.lo), true
}

// Float64 returns the float64 that is nearest to d. The result is always finite.
func (d Decimal) Float64() float64 {
	if d.hi == 0 && d.lo < 1<<53 && d.exp == 0 {
		if d.neg {
			return -float64(d.lo)
		}
		return float64(d.lo)
	}
	var buf [64]byte
	f, _ := strconv.ParseFloat(string(d.Append(buf[:0])), 64) // no error: the range of float64 is larger
	return f
}

// String returns the canonical text of d: without an exponent, and without leading or trailing zeros. It has up to 169
// bytes.
func (d Decimal) String() string {
	var buf [64]byte
	return string(d.Append(buf[:0]))
}

// Append appends the canonical text of d to dst.
func (d Decimal) Append(dst []byte) []byte {
	if d.neg {
		dst = append(dst, '-')
	}
	c := d.coefficient()
	if d.exp >= 0 {
		return appendZeros(c.append(dst), int(d.exp))
	}
	digitsBeforePoint := c.digits() + int(d.exp)
	if digitsBeforePoint <= 0 {
		dst = append(dst, '0', '.')
		return c.append(appendZeros(dst, -digitsBeforePoint))
	}
	point := len(dst) + digitsBeforePoint
	return slices.Insert(c.append(dst), point, '.')
}

// Digits returns the digits and the exponent of d. The absolute value of d is 0.DIGITS × 10^exponent. Neither the first
// nor the last digit is 0. Zero has no digits.
func (d Decimal) Digits() (digits string, exponent int) {
	if d.Sign() == 0 {
		return "", 0
	}
	return string(d.coefficient().append(nil)), d.magnitude() + 1
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}

func (d Decimal) coefficient() uint128 { return uint128{d.hi, d.lo} }

// magnitude returns the exponent of the first digit.
func (d Decimal) magnitude() int { return d.coefficient().digits() - 1 + int(d.exp) }

// canonicalize makes d canonical: it removes trailing zeros of the coefficient, and zero becomes Decimal{}.
func (d *Decimal) canonicalize() {
	c := d.coefficient()
	if c == (uint128{}) {
		*d = Decimal{}
		return
	}
	for {
		q, r := c.div(10)
		if r != 0 {
			d.hi, d.lo = c.hi, c.lo
			return
		}
		c = q
		d.exp++
	}
}

// check returns an error if the canonical d is not in DynamoDB's range.
func (d Decimal) check() error {
	if d.Sign() == 0 {
		return nil
	}
	n := d.coefficient().digits()
	if n > MaxDigits {
		return errDigits
	}
	return checkMagnitude(n - 1 + int(d.exp))
}

func addError(err error) error { return fmt.Errorf("the sum is %w", err) }
