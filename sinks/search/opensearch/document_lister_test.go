package opensearch_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/sinks/search/searchtest"
	"github.com/tablewake/tablewake/sinks/state"
)

// shards is a mapping with several shards. OpenSearch divides several shards into slices in another way than one shard.
const shards = `{"settings":{"number_of_shards":3,"number_of_replicas":0},"mappings":{"dynamic":false}}`

func TestListers(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]opensearch.Mode{"Exact": opensearch.Exact, "Fast": opensearch.Fast} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			o := w.options("-{Type|index_name}", shards)
			o.Mode = mode
			s := w.begin(o)
			ask(t, roomy, http.MethodPut, "/"+w.index("-others"), `{"settings":{"number_of_replicas":0}}`)
			searchtest.RunListers(t, s, w.index("-docs"), w.index("-docs2"), w.index("-others"))
		})
	}
}

// A listing omits tombstones and documents that no sink of the pipeline wrote, even if the store has no Indexes and no
// alias hides them.
func TestListers_ForeignDocuments(t *testing.T) {
	t.Parallel()
	name := index(t, roomy, "")
	s := open(t, opensearch.Options{})
	apply(t, s, mutation(name, "live", 1), tombstone(name, "gone", 1))
	ask(t, roomy, http.MethodPut, "/"+name+"/_doc/nobodys", `{"n":1}`)
	ask(t, roomy, http.MethodPut, "/"+name+"/_doc/unversioned", `{"_tw":{"by":"test","version":"none"}}`)
	var got []string
	for d, err := range s.ListDocuments(t.Context(), name, state.Listing{}) {
		if err != nil {
			t.Fatal(err)
		}
		if d.ID += " "; d.Version.IsZero() {
			d.ID += "unversioned"
		}
		got = append(got, d.ID)
	}
	if len(got) != 2 || !strings.Contains(strings.Join(got, ","), "live ") || !strings.Contains(strings.Join(got, ","), "unversioned unversioned") {
		t.Errorf("listed %q, want live and unversioned", got)
	}
}

// A listing fails with a transient error if the server has dropped its scroll. A listing that is stopped early frees
// its scroll.
func TestListers_Scroll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	drop, ended := true, 0
	direct := &http.Transport{DisableKeepAlives: true}
	o := w.options("", small)
	o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodDelete && r.URL.Path == "/_search/scroll" {
			ended++
		}
		resp, err := direct.RoundTrip(r)
		if err != nil || !drop || r.URL.Query().Get("scroll") == "" {
			return resp, err
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(resp.Body); err != nil {
			return nil, err
		}
		var found struct {
			Scroll string `json:"_scroll_id"`
		}
		if err := json.Unmarshal(body.Bytes(), &found); err != nil {
			return nil, err
		}
		ask(t, roomy, http.MethodDelete, "/_search/scroll", `{"scroll_id":"`+found.Scroll+`"}`)
		resp.Body = io.NopCloser(&body)
		return resp, nil
	})
	s := w.begin(o)
	var ms []search.Mutation
	for n := range 120 {
		ms = append(ms, muts(w.pipeline, n)...)
	}
	apply(t, s, ms...)
	var failed error
	listed := 0
	for _, err := range s.ListDocuments(t.Context(), w.pipeline, state.Listing{}) {
		if failed = err; err == nil {
			listed++
		}
	}
	if _, again := pipeline.Retryable(failed); !again || !strings.Contains(failed.Error(), "list the segment again") || listed == 0 {
		t.Errorf("after %d documents the scroll is gone: %v", listed, failed)
	}
	drop, ended = false, 0
	for _, err := range s.ListDocuments(t.Context(), w.pipeline, state.Listing{}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if ended != 1 {
		t.Errorf("%d scrolls were ended, want 1", ended)
	}
}
