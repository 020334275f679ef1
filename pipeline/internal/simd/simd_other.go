//go:build !amd64

package simd

func plainPrefix(b []byte) int { return plainPortable(b) }

func equalPrefix(a, b []byte) int { return samePortable(a, b) }
