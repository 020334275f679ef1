package opensearch_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// seen is a transport that records the answers of a real server.
type seen struct {
	mu       sync.Mutex
	statuses map[int]int
	requests []int // sizes in bytes
	answers  strings.Builder
}

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if err := resp.Body.Close(); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(b))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.statuses == nil {
		s.statuses = make(map[int]int)
	}
	s.statuses[resp.StatusCode]++
	s.requests = append(s.requests, int(r.ContentLength))
	s.answers.Write(b)
	return resp, nil
}

// watched opens a store on a real server, and returns the store and the transport that records the answers.
func watched(t *testing.T, env string, o opensearch.Options) (*opensearch.Store, *seen) {
	w := &seen{}
	o.URL, o.Transport = server(t, env), w
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return open(t, o), w
}

// insist writes mutations like the runner: it retries transient failures until they succeed. It returns the permanent
// failures and the number of retries.
func insist(t *testing.T, s *opensearch.Store, ms []search.Mutation) (failed map[string]error, retries int) {
	t.Helper()
	failed = make(map[string]error)
	for try := 0; len(ms) > 0; try++ {
		if try == 1000 {
			t.Fatalf("%d documents could not be written in 1000 tries", len(ms))
		}
		rs, err := s.Apply(t.Context(), ms)
		var again []search.Mutation
		for i := range ms {
			e := err
			if e == nil {
				e = rs[i].Err
			}
			if _, ok := pipeline.Retryable(e); ok {
				again = append(again, ms[i])
				retries++
			} else if e != nil {
				failed[ms[i].ID] = e
			}
		}
		ms = again
	}
	return failed, retries
}

// count returns the number of documents in an index.
func count(t *testing.T, env, index string) string {
	t.Helper()
	ask(t, env, http.MethodPost, "/"+index+"/_refresh", "")
	return fmt.Sprint(ask(t, env, http.MethodGet, "/"+index+"/_count", "")["count"])
}

// filled returns mutations for n documents, each with a text of the given number of bytes.
func filled(index, prefix string, n, bytes int) []search.Mutation {
	ms := make([]search.Mutation, n)
	for i := range ms {
		ms[i] = mutation(index, fmt.Sprint(prefix, i), 1, fmt.Sprintf(`"text":%q`, strings.Repeat("x", bytes)))
	}
	return ms
}

// Fact 23: A bulk request fails by document, and a document with 429 is retried with backoff. Here the server answers
// 200 and has no capacity for some documents. Only these documents fail, with a transient error.
func TestFact23_SomeDocumentsFindNoRoom(t *testing.T) {
	ix := index(t, tight, `{"settings":{"index":{"number_of_shards":4,"number_of_replicas":0}}}`)
	s, w := watched(t, tight, opensearch.Options{Mode: opensearch.Fast})
	const writers, each = 16, 4
	for round := 1; !strings.Contains(w.answers.String(), `"status":429`); round++ {
		if round == 20 {
			t.Fatal("the server had room for everything")
		}
		var wg sync.WaitGroup
		left := make([][]search.Mutation, writers)
		for n := range writers {
			wg.Go(func() {
				ms := filled(ix, fmt.Sprintf("r%d-w%d-", round, n), each, 40)
				rs, err := s.Apply(t.Context(), ms)
				if err != nil {
					t.Error(err)
				}
				for i, r := range rs {
					if _, ok := pipeline.Retryable(r.Err); ok {
						left[n] = append(left[n], ms[i])
					} else if r.Err != nil {
						t.Errorf("document %d: %v, want an error that passes", i, r.Err)
					}
				}
			})
		}
		wg.Wait()
		if failed, _ := insist(t, s, slices.Concat(left...)); len(failed) > 0 {
			t.Errorf("failed for good: %v", failed)
		}
		if got, want := count(t, tight, ix), fmt.Sprint(round*writers*each); got != want {
			t.Fatalf("%s documents are there, want %s", got, want)
		}
	}
	if w.statuses[200] == 0 {
		t.Errorf("statuses %v, want 200 with items that failed", w.statuses)
	}
}

// Fact 23: If the server has no capacity for a whole request, no document is lost. The next requests are smaller, until
// the server accepts one.
func TestFact23_RequestFindsNoRoom(t *testing.T) {
	ix := index(t, tight, "")
	s, w := watched(t, tight, opensearch.Options{Mode: opensearch.Fast})
	ms := filled(ix, "d", 50, 4000)
	rs, err := s.Apply(t.Context(), ms)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rs {
		if _, ok := pipeline.Retryable(r.Err); !ok {
			t.Fatalf("document %d: %v, want an error that passes", i, r.Err)
		}
	}
	if w.statuses[429] != 1 {
		t.Fatalf("statuses %v, want one 429: a server that is too busy is let alone", w.statuses)
	}
	if failed, _ := insist(t, s, ms); len(failed) > 0 {
		t.Errorf("failed for good: %v", failed)
	}
	if got := count(t, tight, ix); got != "50" {
		t.Errorf("%s documents are there, want 50", got)
	}
}

// Fact 23: After 413 a request is split. If one document alone is too large, its error shows its size, and the other
// documents are written. The store remembers the limit and sends no larger request again.
func TestFact23_TooLarge(t *testing.T) {
	ix := index(t, tight, "")
	s, w := watched(t, tight, opensearch.Options{})
	ms := append(filled(ix, "small", 5, 1000), filled(ix, "large", 1, 1<<20)...)
	ms = append(ms, filled(ix, "more", 5, 1000)...)
	failed, _ := insist(t, s, ms)
	err := failed["large0"]
	if len(failed) != 1 || err == nil || !strings.Contains(err.Error(), "413") || !strings.Contains(err.Error(), fmt.Sprintf("%d bytes", len(ms[5].Doc))) {
		t.Errorf("failed for good: %v", failed)
	}
	if got := count(t, tight, ix); got != "10" {
		t.Errorf("%s documents are there, want 10", got)
	}
	if w.statuses[413] < 2 {
		t.Fatalf("statuses %v, want 413 for the whole and for the document alone", w.statuses)
	}
	before := w.statuses[413]
	if failed, _ := insist(t, s, filled(ix, "later", 12, 100_000)); len(failed) > 0 {
		t.Errorf("failed for good: %v", failed)
	}
	if w.statuses[413] != before {
		t.Error("the limit was forgotten")
	}
}
