package sinktest

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline"
)

// Mask hides what the patterns say, under a key of the test.
func Mask(t testing.TB, patterns ...string) *pipeline.Mask {
	t.Helper()
	ps := make([]pipeline.Pattern, len(patterns))
	for i, text := range patterns {
		var err error
		if ps[i], err = pipeline.ParsePattern(text); err != nil {
			t.Fatal(err)
		}
	}
	m, err := pipeline.NewMask(ps, []byte("a secret of the test"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
