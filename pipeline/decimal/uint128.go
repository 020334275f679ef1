package decimal

import (
	"math/bits"
	"strconv"
)

// uint128 is the coefficient of a Decimal during arithmetic. 128 bits are enough for any 38 digits and for the carry of
// a sum.
type uint128 struct{ hi, lo uint64 }

// pow10 has the powers of ten that fit into 64 bits.
var pow10 = [...]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
	1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
}

const maxPow10 = len(pow10) - 1

func (u uint128) cmp(v uint128) int {
	switch {
	case u == v:
		return 0
	case u.hi < v.hi || u.hi == v.hi && u.lo < v.lo:
		return -1
	default:
		return 1
	}
}

func (u uint128) add(v uint128) (sum uint128, ok bool) {
	lo, carry := bits.Add64(u.lo, v.lo, 0)
	hi, carry := bits.Add64(u.hi, v.hi, carry)
	return uint128{hi, lo}, carry == 0
}

// sub returns u - v. v must not exceed u.
func (u uint128) sub(v uint128) uint128 {
	lo, borrow := bits.Sub64(u.lo, v.lo, 0)
	hi, _ := bits.Sub64(u.hi, v.hi, borrow)
	return uint128{hi, lo}
}

// mul returns u × m, or false if it overflows.
func (u uint128) mul(m uint64) (product uint128, ok bool) {
	carry, lo := bits.Mul64(u.lo, m)
	over, mid := bits.Mul64(u.hi, m)
	hi, more := bits.Add64(mid, carry, 0)
	return uint128{hi, lo}, over == 0 && more == 0
}

// timesPow10 returns u × 10^n, or false if it overflows.
func (u uint128) timesPow10(n int) (product uint128, ok bool) {
	for ok = true; n > 0 && ok; n -= maxPow10 {
		u, ok = u.mul(pow10[min(n, maxPow10)])
	}
	return u, ok
}

// push appends decimal digits to u: first as many 0 as zeros says, then digit. The result must fit.
func (u uint128) push(zeros int, digit uint64) uint128 {
	u, _ = u.timesPow10(zeros + 1)
	u, _ = u.add(uint128{lo: digit})
	return u
}

func (u uint128) div(by uint64) (quotient uint128, remainder uint64) {
	hi, r := u.hi/by, u.hi%by
	lo, r := bits.Div64(r, u.lo, by)
	return uint128{hi, lo}, r
}

// digits returns the number of decimal digits. It is 1 for zero.
func (u uint128) digits() int {
	if u.hi == 0 {
		n := 1
		for n <= maxPow10 && u.lo >= pow10[n] {
			n++
		}
		return n
	}
	q, _ := u.div(pow10[maxPow10])
	return maxPow10 + q.digits()
}

// append appends u in decimal.
func (u uint128) append(dst []byte) []byte {
	if u.hi == 0 {
		return strconv.AppendUint(dst, u.lo, 10)
	}
	q, r := u.div(pow10[maxPow10])
	dst = q.append(dst)
	// r stands for the last maxPow10 digits. Each power of ten that exceeds r is a digit that r lacks.
	for n := maxPow10 - 1; n > 0 && r < pow10[n]; n-- {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, r, 10)
}
