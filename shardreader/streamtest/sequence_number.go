package streamtest

import (
	"math/big"
	"strconv"

	"github.com/tablewake/tablewake/pipeline/record"
)

// sequence is a sequence number minus a base. The base makes sequence numbers as long as those of the service. Soon
// after the first numbers, sequence numbers become one digit longer. This reveals readers that compare sequence numbers
// as text.
type sequence uint64

const (
	baseHigh, baseLow = 999, 999_999_999_992_999_800 // the base is 999 999999999992999800
	lowModulus        = 1_000_000_000_000_000_000

	firstSequence sequence = 7_000_000
	sequenceStep  sequence = 7
)

// base is the base as a number.
var base, _ = new(big.Int).SetString(sequence(0).text(), 10)

// text returns the sequence number, which has at least 21 digits.
func (n sequence) text() string { return string(n.append(nil)) }

func (n sequence) append(dst []byte) []byte {
	low := uint64(n) + baseLow
	dst = strconv.AppendUint(dst, baseHigh+low/lowModulus, 10)
	var digits [18]byte
	low %= lowModulus
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + low%10)
		low /= 10
	}
	return append(dst, digits[:]...)
}

// parseSequence parses a sequence number. A number outside the server's range becomes the lowest or the highest
// sequence. ok is false if text is not a sequence number.
func parseSequence(text string) (_ sequence, ok bool) {
	if !record.IsSequence(text) {
		return 0, false
	}
	n, _ := new(big.Int).SetString(text, 10)
	n.Sub(n, base)
	switch {
	case n.Sign() < 0:
		return 0, true
	case !n.IsUint64():
		return ^sequence(0), true
	}
	return sequence(n.Uint64()), true
}
