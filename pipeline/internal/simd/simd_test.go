package simd

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// forms lists the implementations that this processor can run.
var forms = []struct {
	name  string
	plain func(b []byte) int
	same  func(a, b []byte) int
}{
	{"vector", PlainPrefix, EqualPrefix},
	{"portable", plainPortable, samePortable},
}

func bytewisePlain(b []byte) int {
	for i, c := range b {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			return i
		}
	}
	return len(b)
}

func bytewiseSame(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// TestPlain puts every byte at every place of runs of every length and alignment.
func TestPlain(t *testing.T) {
	memory := bytes.Repeat([]byte("a~ !#[]\x7f"), 32)
	for _, form := range forms {
		for _, length := range []int{0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 100} {
			b := memory[length%5:][:length:length]
			if got := form.plain(b); got != length {
				t.Fatalf("%s: %d of %d plain bytes", form.name, got, length)
			}
			for at := range b {
				was := b[at]
				for c := range 256 {
					b[at] = byte(c)
					if got, want := form.plain(b), bytewisePlain(b); got != want {
						t.Fatalf("%s: byte %#x at %d of %d: %d, want %d", form.name, c, at, length, got, want)
					}
				}
				b[at] = was
			}
		}
	}
}

// TestSame checks that the common prefix ends at the first byte that differs in any bit.
func TestSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, form := range forms {
		for length := range 130 {
			a := make([]byte, length)
			for i := range a {
				a[i] = byte(rng.Uint32())
			}
			b := append(make([]byte, 3), a...)[3:]
			if got := form.same(a, b); got != length {
				t.Fatalf("%s: %d of %d equal bytes", form.name, got, length)
			}
			for at := range b {
				b[at] ^= 1 << rng.IntN(8)
				if got := form.same(a, b); got != at {
					t.Fatalf("%s: %d of %d, want %d", form.name, got, length, at)
				}
				b[at] = a[at]
			}
		}
	}
	if got := EqualPrefix([]byte("abcdef"), []byte("abc")); got != 3 {
		t.Errorf("of different lengths: %d", got)
	}
}

func FuzzForms(f *testing.F) {
	f.Add([]byte("plain text of more than 32 bytes, and a \"quote\""), []byte("plain text of more than 32 bytes, and another"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, form := range forms {
			if got, want := form.plain(a), bytewisePlain(a); got != want {
				t.Errorf("%s: %d plain bytes, want %d", form.name, got, want)
			}
			n := min(len(a), len(b))
			if got, want := form.same(a[:n], b[:n]), bytewiseSame(a, b); got != want {
				t.Errorf("%s: %d bytes are the same, want %d", form.name, got, want)
			}
		}
	})
}
