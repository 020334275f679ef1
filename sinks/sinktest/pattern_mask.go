package sinktest

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
)

// Mask returns a mask that hides the attributes that match the patterns. The mask hashes with a fixed test key.
func Mask(t testing.TB, patterns ...string) *mask.Mask {
	t.Helper()
	ps := make([]item.Pattern, len(patterns))
	for i, text := range patterns {
		var err error
		if ps[i], err = item.ParsePattern(text); err != nil {
			t.Fatal(err)
		}
	}
	m, err := mask.New(ps, []byte("a secret of the test"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
