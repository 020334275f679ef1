package streamtest

import (
	"strconv"
	"strings"
)

// sequence is a sequence number minus a base. The base makes sequence numbers as long as those of the service. Soon
// after the first numbers, sequence numbers become one digit longer. This reveals readers that compare sequence numbers
// as text.
type sequence uint64

const (
	baseHigh, baseLow = 999, 999_999_999_992_999_800 // the base is 999 999999999992999800
	split             = 1_000_000_000_000_000_000

	firstSequence sequence = 7_000_000
	sequenceStep  sequence = 7
)

// text returns the sequence number, which has at least 21 digits.
func (n sequence) text() string { return string(n.append(nil)) }

func (n sequence) append(dst []byte) []byte {
	low := uint64(n) + baseLow
	dst = strconv.AppendUint(dst, baseHigh+low/split, 10)
	var digits [18]byte
	low %= split
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + low%10)
		low /= 10
	}
	return append(dst, digits[:]...)
}

// parseSequence parses a sequence number. A number outside the server's range becomes the lowest or the highest
// sequence. ok is false if text is not a sequence number.
func parseSequence(text string) (n sequence, ok bool) {
	if text == "" || len(text) > 40 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	text = strings.TrimLeft(text, "0")
	if len(text) <= 18 {
		return 0, true
	}
	low, _ := strconv.ParseUint(text[len(text)-18:], 10, 64)
	high, err := strconv.ParseUint(text[:len(text)-18], 10, 64)
	switch {
	case err == nil && (high < baseHigh || high == baseHigh && low < baseLow):
		return 0, true
	case err != nil || high-baseHigh > 15:
		return ^sequence(0), true
	}
	return sequence((high-baseHigh)*split + low - baseLow), true
}
