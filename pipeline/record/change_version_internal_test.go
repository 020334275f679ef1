package record

import (
	"strings"
	"testing"
	"unsafe"
)

// TestAllDigits puts every byte at every place among digits.
func TestAllDigits(t *testing.T) {
	for length := 1; length <= 27; length++ {
		digits := []byte(strings.Repeat("0918273645", 3)[:length])
		for at := range digits {
			was := digits[at]
			for b := range 256 {
				digits[at] = byte(b)
				if got, want := allDigits(string(digits)), '0' <= b && b <= '9'; got != want {
					t.Fatalf("byte %#x at %d of %d: %t", b, at, length, got)
				}
			}
			digits[at] = was
		}
	}
	if allDigits("") {
		t.Error("nothing is a number")
	}
}

// TestChangeSize checks that a hundred changes, the default batch of a Lambda event, fit into an allocation of 32 KB.
func TestChangeSize(t *testing.T) {
	if size := unsafe.Sizeof(Change{}); size > 320 {
		t.Errorf("a Change takes %d bytes, want at most 320", size)
	}
}
