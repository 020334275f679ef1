package dir_test

import (
	"errors"
	"io"
	"testing"

	"github.com/tablewake/tablewake/sinks/archive"
)

func TestRanges(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.Put(t.Context(), archive.Object{Name: "a.json", Body: []byte("0123456789")}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		offset, n int64
		want      string
	}{
		{0, 4, "0123"}, {4, 3, "456"}, {8, 10, "89"}, {10, 1, ""}, {-3, 2, "78"}, {-8, 8, "23456789"}, {-99, 3, "012"},
	} {
		r, size, err := s.GetRange(t.Context(), "a.json", test.offset, test.n)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || string(b) != test.want || size != 10 {
			t.Errorf("%d bytes from %d are %q of %d (%v), want %q", test.n, test.offset, b, size, err, test.want)
		}
	}
	if _, _, err := s.GetRange(t.Context(), "b.json", 0, 1); !errors.Is(err, archive.ErrNoObject) {
		t.Errorf("a missing object: %v, want ErrNoObject", err)
	}
}
