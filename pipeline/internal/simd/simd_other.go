//go:build !amd64

package simd

func plain(b []byte) int { return plainPortable(b) }

func same(a, b []byte) int { return samePortable(a, b) }
