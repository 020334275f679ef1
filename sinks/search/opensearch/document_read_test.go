package opensearch_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// muts returns one mutation of document n.
func muts(index string, n int) []search.Mutation {
	return []search.Mutation{mutation(index, fmt.Sprint("d", n), 1)}
}

// documents returns the ids of an index, in order.
func documents(tb testing.TB, s *opensearch.Store, index string) []string {
	tb.Helper()
	var ids []string
	for d, err := range s.Documents(tb.Context(), index) {
		if err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, d.ID)
	}
	return ids
}

// Documents yields the documents in the byte order of their ids, over many pages and without tombstones.
func TestDocuments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.begin(w.options("", small))
	ids := []string{"10", "9", "+5", "+-5.5", "=AQ", "A%2CB", "B", "a,b", "a%20b", "Zü", "sha256:00", strings.Repeat("x", 512)}
	for n := range 450 {
		ids = append(ids, fmt.Sprint("n", n))
	}
	var ms []search.Mutation
	for _, id := range ids {
		ms = append(ms, mutation(w.pipeline, id, 1), tombstone(w.pipeline, id+"0", 1))
	}
	ms = slices.DeleteFunc(ms, func(m search.Mutation) bool { return m.Tombstone && (len(m.ID) > 512 || slices.Contains(ids, m.ID)) })
	apply(t, s, ms...)
	slices.Sort(ids)
	if got := documents(t, s, w.pipeline); !slices.Equal(got, ids) {
		t.Errorf("there are %d documents: %q, want %d", len(got), got, len(ids))
	}
	for range s.Documents(t.Context(), w.pipeline) {
		break // a reader may stop early
	}
	for _, id := range ids[:12] {
		if there, err := s.ReadStored(t.Context(), w.pipeline, id, ""); err != nil || !there.Exists || there.Tombstone {
			t.Errorf("at %q stands %+v (%v)", id, there, err)
		}
	}
}

// Search uses the server's query string language, and finds documents that were just written.
func TestSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.begin(w.options("", small))
	apply(t, s,
		mutation(w.pipeline, "red", 1, `"title":"Red shoe"`, `"price":49.9`),
		mutation(w.pipeline, "blue", 2, `"title":"Blue shoe"`, `"price":100`),
		mutation(w.pipeline, "gone", 1, `"title":"Green shoe"`),
		tombstone(w.pipeline, "gone", 3))
	for query, want := range map[string][]string{
		"":                 {"blue", "red"},
		"*":                {"blue", "red"},
		"shoe":             {"blue", "red"},
		"title:red":        {"red"},
		"+shoe -red":       {"blue"},
		"price:>50":        {"blue"},
		"price:[40 TO 50]": {"red"},
		"green":            nil,
	} {
		hits, err := s.Search(t.Context(), w.pipeline, query, 0)
		var got []string
		for _, d := range hits.Documents {
			got = append(got, d.ID)
			if d.Index != w.pipeline || !strings.Contains(string(d.Doc), `"title"`) {
				t.Errorf("%q finds %+v", query, d)
			}
		}
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) || hits.Total != uint64(len(want)) {
			t.Errorf("%q finds %q of %d (%v), want %q", query, got, hits.Total, err, want)
		}
	}
	if hits, err := s.Search(t.Context(), w.pipeline, "", 1); err != nil || hits.Total != 2 || len(hits.Documents) != 1 {
		t.Errorf("one of two is %+v (%v)", hits, err)
	}
	if _, err := s.Search(t.Context(), w.pipeline, `title:(red`, 0); err == nil || strings.Contains(err.Error(), "red") || !strings.Contains(err.Error(), "look at the query") {
		t.Errorf("a query that is none: %v", err)
	}
	if _, err := s.Search(t.Context(), w.index("-none"), "", 0); !errors.Is(err, search.ErrNoIndex) {
		t.Errorf("a search of no index: %v", err)
	}
	for _, err := range s.Documents(t.Context(), w.index("-none")) {
		if !errors.Is(err, search.ErrNoIndex) {
			t.Errorf("the documents of no index: %v", err)
		}
	}
}

// ReadStored returns tombstones too, although readers never see them.
func TestStands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.begin(w.options("", small))
	live, gone := mutation(w.pipeline, "live", 5), tombstone(w.pipeline, "gone", 7)
	apply(t, s, live, gone)
	there, err := s.ReadStored(t.Context(), w.pipeline, "live", "")
	if err != nil || !there.Exists || there.Tombstone || there.Version != live.Version || !strings.Contains(string(there.Doc), `"n":5`) {
		t.Errorf("a document stands as %+v (%v)", there, err)
	}
	there, err = s.ReadStored(t.Context(), w.pipeline, "gone", "")
	if err != nil || !there.Exists || !there.Tombstone || there.Version != gone.Version {
		t.Errorf("a tombstone stands as %+v (%v)", there, err)
	}
	for _, index := range []string{w.pipeline, w.index("-none")} {
		if there, err := s.ReadStored(t.Context(), index, "never", ""); err != nil || there.Exists || !there.Version.IsZero() {
			t.Errorf("where nothing is stands %+v (%v)", there, err)
		}
	}
}

// Documents with a routing are written, compared and read by their routing. The index has several shards, and refuses
// requests without a routing.
func TestRouting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.begin(w.options("", `{"settings":{"number_of_shards":5,"number_of_replicas":0},"mappings":{"_routing":{"required":true}}}`))
	var ms []search.Mutation
	for n := range 20 {
		m := mutation(w.pipeline, fmt.Sprint("d", n), 2)
		m.Routing = fmt.Sprint("PK#", n%3, ",é")
		ms = append(ms, m)
	}
	apply(t, s, ms...)
	for _, m := range ms {
		there, err := s.ReadStored(t.Context(), w.pipeline, m.ID, m.Routing)
		if err != nil || there.Version != m.Version {
			t.Errorf("%s by %s stands as %+v (%v)", m.ID, m.Routing, there, err)
		}
		old := mutation(w.pipeline, m.ID, 1)
		old.Routing = m.Routing
		if got := apply(t, s, old); got[0] != pipeline.Superseded {
			t.Errorf("an older write by routing is %s", got[0])
		}
	}
	if ids := documents(t, s, w.pipeline); len(ids) != 20 {
		t.Errorf("there are %d documents", len(ids))
	}
}

// The hint about the order of documents belongs to a refused search. A refused refresh has another reason.
func TestDocumentsHint(t *testing.T) {
	for refused, hasHint := range map[string]bool{"_refresh": false, "_search": true} {
		s := open(t, opensearch.Options{URL: "http://127.0.0.1:1", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, refused) {
				return answer(200, `{}`), nil
			}
			return answer(400, `{"error":{"type":"illegal_argument_exception","reason":"no"},"status":400}`), nil
		})})
		for _, err := range s.Documents(t.Context(), "x") {
			if err == nil || strings.Contains(err.Error(), "indices.id_field_data") != hasHint {
				t.Errorf("the request %s is refused: %v, want the hint: %t", refused, err, hasHint)
			}
		}
	}
}
