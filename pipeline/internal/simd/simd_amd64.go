package simd

import "golang.org/x/sys/cpu"

// vector is the number of bytes that the vector instructions take at once.
const vector = 32

// What is left behind the last whole vector is read by the portable form.

func plain(b []byte) int {
	i := 0
	if cpu.X86.HasAVX2 && len(b) >= vector {
		whole := len(b) &^ (vector - 1)
		if i = plainAVX2(&b[0], whole); i < whole {
			return i
		}
	}
	return i + plainPortable(b[i:])
}

func same(a, b []byte) int {
	i := 0
	if cpu.X86.HasAVX2 && len(a) >= vector {
		whole := len(a) &^ (vector - 1)
		if i = sameAVX2(&a[0], &b[0], whole); i < whole {
			return i
		}
	}
	return i + samePortable(a[i:], b[i:])
}

// plainAVX2 is Plain of the n bytes at b, n being a multiple of vector and not 0.
//
//go:noescape
func plainAVX2(b *byte, n int) int

// sameAVX2 is Same of the n bytes at a and b, n being a multiple of vector and not 0.
//
//go:noescape
func sameAVX2(a, b *byte, n int) int
