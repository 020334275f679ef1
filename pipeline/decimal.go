package pipeline

// Decimal is an exact number of DynamoDB's range: up to 38 significant digits,
// magnitudes 1E-130 to 9.9...E+125, and zero. The zero Decimal is 0. Two equal
// numbers are equal by ==: the coefficient carries no trailing zeros.
type Decimal struct {
	hi, lo uint64 // coefficient
	exp    int16  // value = ±coefficient × 10^exp
	neg    bool
}

func ParseDecimal(s string) (Decimal, error)     { panic("decimal") }
func DecimalOf(i int64) Decimal                  { panic("decimal") }
func (d Decimal) Cmp(e Decimal) int              { panic("decimal") }
func (d Decimal) Add(e Decimal) (Decimal, error) { panic("decimal") } // error when the result needs more than 38 digits or leaves the range
func (d Decimal) Neg() Decimal                   { panic("decimal") }
func (d Decimal) Sign() int                      { panic("decimal") }
func (d Decimal) Int64() (int64, bool)           { panic("decimal") }
func (d Decimal) Float64() float64               { panic("decimal") }
func (d Decimal) String() string                 { panic("decimal") } // canonical, no exponent, no trailing zeros
func (d Decimal) Append(dst []byte) []byte       { panic("decimal") }
