// Package simd has the two loops in which a scan of JSON spends most of its time. If the processor has AVX2, a loop
// reads 32 bytes at a time. Otherwise the portable form of the loop reads eight bytes at a time. Both forms return the
// same results.
package simd

import (
	"encoding/binary"
	"math/bits"
)

// PlainPrefix returns the number of bytes at the start of b that are plain text in a JSON string: printable ASCII
// except quotes and backslashes.
func PlainPrefix(b []byte) int { return plainPrefix(b) }

// EqualPrefix returns the length of the longest common prefix of a and b.
func EqualPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	return equalPrefix(a[:n], b[:n])
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// StopMask finds the bytes of w that are not plain text in a JSON string: quotes, backslashes, control characters, and
// bytes from 0x80 on. It sets the highest bit of each such byte in the result. Only the lowest set bit is reliable: the
// bits above it may be wrong.
//
// Flipping bit 1 turns the quote (0x22) into 0x20, and keeps control characters below 0x20. So one comparison finds
// both.
func StopMask(w uint64) uint64 {
	quote, slash := w^ones*0x02, w^ones*'\\'
	return ((quote-ones*0x21)&^quote | (slash-ones)&^slash | w) & highs
}

func plainPortable(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if stop := StopMask(binary.LittleEndian.Uint64(b[i:])); stop != 0 {
			return i + bits.TrailingZeros64(stop)>>3
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' && b[i] < 0x80 {
		i++
	}
	return i
}

// samePortable does the same as EqualPrefix. a and b have the same length.
func samePortable(a, b []byte) int {
	i := 0
	for ; i+8 <= len(a) && i+8 <= len(b); i += 8 {
		if d := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); d != 0 {
			return i + bits.TrailingZeros64(d)>>3
		}
	}
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}
