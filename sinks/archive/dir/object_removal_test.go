package dir_test

import (
	"slices"
	"testing"

	"github.com/tablewake/tablewake/sinks/archive"
)

func TestRemove(t *testing.T) {
	s := open(t, t.TempDir())
	for _, name := range []string{"a/b.json", "a/c.json", "x"} {
		if err := s.Put(t.Context(), archive.Object{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.Remove(t.Context(), []string{"a/b.json", "x", "none/y"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := names(t, s, ""); !slices.Equal(got, []string{"a/c.json"}) {
		t.Errorf("names %q", got)
	}
}
