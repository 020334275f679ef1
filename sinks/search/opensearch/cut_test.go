package opensearch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/test/faults"
)

// If the connection to the server breaks, Apply returns the true result of a write, or a transient error. Repeating the
// write is safe, even if the server had performed it and a newer change was written since then.
func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	for i, fault := range faults.All() {
		mode := modes[i%len(modes)]
		if testing.Short() && fault.Name != faults.CutAnswers().Name && fault.Name != faults.ResetAnswers().Name {
			continue
		}
		t.Run(fault.Name+"/"+string(mode), func(t *testing.T) {
			t.Parallel()
			ix := index(t, roomy, "")
			proxy := faults.Before(t, server(t, roomy))
			s, sound := open(t, opensearch.Options{URL: proxy.Endpoint(), Mode: mode}), open(t, opensearch.Options{Mode: mode})
			apply(t, s, mutation(ix, "a", 1))
			ms := filled(ix, "d", 100, 100)
			for i := range ms {
				ms[i].Version = mutation(ix, "", 2).Version
			}
			if err := proxy.Begin(fault, time.Minute); err != nil {
				t.Fatal(err)
			}
			rs, err := s.Apply(t.Context(), ms)
			for i, r := range rs {
				if r.Err != nil {
					err = r.Err
				} else if i%20 == 0 && source(t, roomy, ix, ms[i].ID) == nil {
					t.Fatalf("document %d is %s, and not there", i, r.Outcome)
				}
			}
			if _, passes := pipeline.Retryable(err); err != nil && !passes {
				t.Errorf("%v, want an error that passes", err)
			}
			if err := proxy.End(); err != nil {
				t.Fatal(err)
			}
			apply(t, sound, mutation(ix, "d0", 3))
			if failed, _ := insist(t, s, ms); len(failed) > 0 {
				t.Errorf("failed for good: %v", failed)
			}
			if got := count(t, roomy, ix); got != "101" {
				t.Errorf("%s documents are there, want 101", got)
			}
			if n := fmt.Sprint(source(t, roomy, ix, "d0")["n"]); n != "3" {
				t.Errorf("the repetition put version %s over version 3", n)
			}
		})
	}
}
