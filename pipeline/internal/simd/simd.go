// Package simd has the two loops that a scan of JSON spends its time in, over many bytes
// at once: with the processor's vector instructions where it has them, eight bytes at a
// time everywhere else. Both forms give the same.
package simd

import (
	"encoding/binary"
	"math/bits"
)

// Plain is the number of bytes at the start of b that stand for themselves in a JSON
// string: printable ASCII but for quotes and backslashes.
func Plain(b []byte) int { return plain(b) }

// Same is the number of bytes in which a and b begin the same.
func Same(a, b []byte) int {
	n := min(len(a), len(b))
	return same(a[:n], b[:n])
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// Stops marks the bytes of w that do not stand for themselves in a JSON string by their
// highest bits: quotes, backslashes, control characters, bytes from 0x80. The lowest mark
// is right; those above it may be wrong. Flipping bit 1 puts the quote (0x22) at 0x20, and
// the control characters stay below: one comparison finds both.
func Stops(w uint64) uint64 {
	quote, slash := w^ones*0x02, w^ones*'\\'
	return ((quote-ones*0x21)&^quote | (slash-ones)&^slash | w) & highs
}

func plainPortable(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if stop := Stops(binary.LittleEndian.Uint64(b[i:])); stop != 0 {
			return i + bits.TrailingZeros64(stop)>>3
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' && b[i] < 0x80 {
		i++
	}
	return i
}

// samePortable wants a and b of the same length.
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
