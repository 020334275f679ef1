package opensearch_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// Fact 34: A scripted update reads a document and then indexes it. If two updates overlap, one of them gets 409. This
// 409 is a lost race, and does not mean that a newer version is stored. Here two workers write the same documents at
// the same time until a race is lost. The newest version stays, no write fails, and no newest version is reported as
// superseded.
func TestFact34_LostRacesAreTriedAgain(t *testing.T) {
	ix := index(t, roomy, "")
	older, one := watched(t, roomy, opensearch.Options{})
	newer, other := watched(t, roomy, opensearch.Options{})
	const documents, rounds = 200, 200
	batch := func(version int) []search.Mutation {
		ms := make([]search.Mutation, documents)
		for i := range ms {
			ms[i] = mutation(ix, fmt.Sprint("d", i), version)
		}
		return ms
	}
	met := func() bool {
		return strings.Contains(one.answers.String()+other.answers.String(), "version_conflict")
	}
	round := 1
	for ; !met(); round++ {
		if round == rounds {
			t.Fatal("no race was lost")
		}
		var both sync.WaitGroup
		both.Go(func() {
			if rs, err := older.Apply(t.Context(), batch(2*round)); err != nil {
				t.Error(err)
			} else {
				for i, r := range rs {
					if r.Err != nil {
						t.Errorf("document %d: %v", i, r.Err)
					}
				}
			}
		})
		both.Go(func() {
			for i, o := range apply(t, newer, batch(2*round+1)...) {
				if o != pipeline.Written {
					t.Errorf("document %d: the newest version is %s", i, o)
				}
			}
		})
		both.Wait()
	}
	ask(t, roomy, "POST", "/"+ix+"/_refresh", "")
	stale := ask(t, roomy, "POST", "/"+ix+"/_count", fmt.Sprintf(`{"query":{"bool":{"must_not":{"term":{"n":%d}}}}}`, 2*round-1))
	if n := fmt.Sprint(stale["count"]); n != "0" {
		t.Errorf("%s documents are not of the newest version", n)
	}
	t.Logf("they met in round %d", round-1)
}

// Fact 23: With external versions (mode fast), 409 means that a newer version is stored. The mutation is superseded and
// is not sent again. With scripted updates, 409 is a lost race.
func TestFact23_ConflictByMode(t *testing.T) {
	ix := index(t, roomy, "")
	s, w := watched(t, roomy, opensearch.Options{Mode: opensearch.Fast})
	apply(t, s, mutation(ix, "a", 2))
	if got := apply(t, s, mutation(ix, "a", 1)); got[0] != pipeline.Superseded || !strings.Contains(w.answers.String(), `"status":409`) {
		t.Errorf("an older second is %s", got[0])
	}
	if got := len(w.requests); got != 2 {
		t.Errorf("%d requests, want none more for what is superseded", got)
	}
}
