package opensearch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

var modes = []opensearch.Mode{opensearch.Exact, opensearch.Fast}

// A document has the content of its newest version, whatever the order of the writes.
func TestNewestStays(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s, ix := open(t, opensearch.Options{Mode: mode}), index(t, roomy, "")
			for _, step := range []struct {
				version int
				outcome pipeline.Outcome
				stands  int
			}{
				{5, pipeline.Written, 5},
				{3, pipeline.Superseded, 5},
				{5, pipeline.Written, 5},
				{7, pipeline.Written, 7},
				{5, pipeline.Superseded, 7},
			} {
				if got := apply(t, s, mutation(ix, "a", step.version)); got[0] != step.outcome {
					t.Errorf("version %d is %s, want %s", step.version, got[0], step.outcome)
				}
				if n := fmt.Sprint(source(t, roomy, ix, "a")["n"]); n != fmt.Sprint(step.stands) {
					t.Errorf("after version %d stands %s, want %d", step.version, n, step.stands)
				}
			}
		})
	}
}

// If a batch has several mutations of a document, only the newest is written. The results of the others are Coalesced
// or Superseded.
func TestSeveralOfOneDocument(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s, ix := open(t, opensearch.Options{Mode: mode}), index(t, roomy, "")
			got := apply(t, s, mutation(ix, "a", 1), mutation(ix, "b", 1), mutation(ix, "a", 3), mutation(ix, "a", 3), mutation(ix, "a", 2))
			want := []pipeline.Outcome{pipeline.Coalesced, pipeline.Written, pipeline.Written, pipeline.Coalesced, pipeline.Superseded}
			if !slices.Equal(got, want) {
				t.Errorf("outcomes %s, want %s", got, want)
			}
			if n := fmt.Sprint(source(t, roomy, ix, "a")["n"]); n != "3" {
				t.Errorf("stands %s, want 3", n)
			}
		})
	}
}
