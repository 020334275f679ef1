package simd

import "golang.org/x/sys/cpu"

// vector is the number of bytes that one vector instruction reads.
const vector = 32

// The portable functions read the bytes after the last whole vector.

func plainPrefix(b []byte) int {
	i := 0
	if cpu.X86.HasAVX2 && len(b) >= vector {
		vectorsEnd := len(b) &^ (vector - 1)
		i = plainAVX2(&b[0], vectorsEnd)
		if i < vectorsEnd {
			return i
		}
	}
	return i + plainPortable(b[i:])
}

func equalPrefix(a, b []byte) int {
	i := 0
	if cpu.X86.HasAVX2 && len(a) >= vector {
		vectorsEnd := len(a) &^ (vector - 1)
		i = sameAVX2(&a[0], &b[0], vectorsEnd)
		if i < vectorsEnd {
			return i
		}
	}
	return i + samePortable(a[i:], b[i:])
}

// plainAVX2 does the same as PlainPrefix for the n bytes at b. n is a positive multiple of vector.
//
//go:noescape
func plainAVX2(b *byte, n int) int

// sameAVX2 does the same as EqualPrefix for the n bytes at a and at b. n is a positive multiple of vector.
//
//go:noescape
func sameAVX2(a, b *byte, n int) int
