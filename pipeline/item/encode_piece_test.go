package item

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestAppendPiece compares appendPiece with append, at all distances from the ends of both slices.
func TestAppendPiece(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "b")
		from := rapid.IntRange(0, len(b)).Draw(t, "from")
		to := rapid.IntRange(from, len(b)).Draw(t, "to")
		before := rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(t, "before")
		dst := append(make([]byte, 0, len(before)+rapid.IntRange(0, 80).Draw(t, "room")), before...)
		want := append(bytes.Clone(before), b[from:to]...)
		if got := appendPiece(dst, b, from, to); !bytes.Equal(got, want) {
			t.Fatalf("it is %v, want %v", got, want)
		}
	})
}
