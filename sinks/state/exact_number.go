package state

import (
	"errors"
	"math/big"
	"strings"

	"github.com/tablewake/tablewake/pipeline/decimal"
	"github.com/tablewake/tablewake/pipeline/item"
)

// Number is an exact decimal number with any number of digits. A sum needs it, because DynamoDB numbers have 38 digits
// and their sum may have more. The zero Number is 0. A Number is immutable.
type Number struct {
	small decimal.Decimal
	large *scaled // the number, if it has too many digits for small; nil: the number is small
}

// scaled is a number: coefficient / 10^scale.
type scaled struct {
	coefficient big.Int
	scale       int // not negative
}

// NumberOf returns the Number of a decimal.
func NumberOf(d decimal.Decimal) Number { return Number{small: d} }

// ParseNumber parses a text that [Number.String] returned.
func ParseNumber(s string) (Number, error) {
	if d, err := decimal.Parse(s); err == nil {
		return Number{small: d}, nil
	}
	large, ok := parseScaled(s)
	if !ok {
		return Number{}, errors.New("not a decimal number")
	}
	return large.number(), nil
}

// Add returns n + m, exactly.
func (n Number) Add(m Number) Number {
	if n.large == nil && m.large == nil {
		if d, err := n.small.Add(m.small); err == nil {
			return Number{small: d}
		}
	}

	fine, coarse := n.toScaled(), m.toScaled() // fine gets the larger scale
	if fine.scale < coarse.scale {
		fine, coarse = coarse, fine
	}
	sum := scaled{scale: fine.scale}
	sum.coefficient.Mul(&coarse.coefficient, powerOfTen(fine.scale-coarse.scale))
	sum.coefficient.Add(&sum.coefficient, &fine.coefficient)
	return sum.number()
}

// Neg returns -n.
func (n Number) Neg() Number {
	if n.large == nil {
		return Number{small: n.small.Neg()}
	}
	neg := scaled{scale: n.large.scale}
	neg.coefficient.Neg(&n.large.coefficient)
	return Number{large: &neg}
}

// Sign returns -1, 0 or 1.
func (n Number) Sign() int {
	if n.large == nil {
		return n.small.Sign()
	}
	return n.large.coefficient.Sign()
}

// String returns the number in full, without an exponent, leading zeros or trailing zeros.
func (n Number) String() string {
	if n.large == nil {
		return n.small.String()
	}
	return n.large.String()
}

// Value returns the number as an N. If it has more than the 38 digits that DynamoDB allows, Value returns its text as
// an S.
func (n Number) Value() item.Value {
	if n.large == nil {
		return item.NumberValue(n.small)
	}
	return item.StringValue(n.large.String())
}

func (n Number) toScaled() *scaled {
	if n.large != nil {
		return n.large
	}
	s, _ := parseScaled(n.small.String()) // the text of a decimal always parses
	return s
}

// number returns s as a Number. It uses small if possible, so that equal numbers have equal texts.
func (s *scaled) number() Number {
	if d, err := decimal.Parse(s.String()); err == nil {
		return Number{small: d}
	}
	return Number{large: s}
}

func (s *scaled) String() string {
	digits := new(big.Int).Abs(&s.coefficient).String()
	if len(digits) <= s.scale {
		digits = strings.Repeat("0", s.scale-len(digits)+1) + digits // 5 with the scale 3: 0005, which is 0.005
	}

	point := len(digits) - s.scale
	whole, fraction := digits[:point], strings.TrimRight(digits[point:], "0")
	if s.coefficient.Sign() < 0 {
		whole = "-" + whole
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// parseScaled parses a text of the form -?digits[.digits]. It returns false for another text.
func parseScaled(text string) (*scaled, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	s := &scaled{scale: len(fraction)}
	for _, c := range strings.TrimPrefix(whole, "-") + fraction {
		if c < '0' || c > '9' {
			return nil, false
		}
	}
	_, ok := s.coefficient.SetString(whole+fraction, 10)
	return s, ok
}

func powerOfTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
