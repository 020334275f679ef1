package opensearch_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/sinks/state"
)

const counted = `{"hits":{"hits":[]},"aggregations":{"births":{"buckets":[]},"gone":{"doc_count":0}}`

// counting returns a store with one index. Its server answers a count with the given status and body, and adds the path
// of each request to paths.
func counting(t *testing.T, status int, count string, paths *[]string) *opensearch.Store {
	meta := `{"docs.tw1":{"mappings":{"_meta":{"tablewake":{"pipeline":"shop","sink":"docs","index":"docs"}}}}}`
	return open(t, opensearch.Options{URL: "http://127.0.0.1:1", Mode: opensearch.Fast, Service: opensearch.Serverless,
		Indexes: &opensearch.Indexes{Pipeline: "shop", Sink: "docs", Name: parse(t, "docs")},
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			*paths = append(*paths, r.URL.Path)
			if strings.HasSuffix(r.URL.Path, "/_search") {
				return answer(status, count), nil
			}
			return answer(200, meta), nil
		})})
}

// If a shard fails, the count is incomplete. Then Empty and Inspect fail.
func TestEmpty_ShardsFail(t *testing.T) {
	var paths []string
	s := counting(t, 200, counted+`,"_shards":{"failed":1}}`, &paths)
	if empty, err := s.Empty(t.Context()); empty || err == nil {
		t.Errorf("empty is %v (%v)", empty, err)
	} else if _, passes := pipeline.Retryable(err); !passes {
		t.Errorf("%v does not pass", err)
	}
	if _, err := s.Output(state.OutputRef{}).Inspect(t.Context(), true); err == nil {
		t.Error("a part of the indexes is inspected as all")
	}
}

// If an index is deleted while it is counted, Empty fails and does not report an empty sink.
func TestEmpty_IndexGoes(t *testing.T) {
	var paths []string
	s := counting(t, 404, `{"error":{"type":"index_not_found_exception"}}`, &paths)
	if empty, err := s.Empty(t.Context()); empty || !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "count documents in docs: index_not_found_exception (404)") {
		t.Errorf("empty is %v (%v)", empty, err)
	}
}

// OpenSearch Serverless has no request for a refresh, because it refreshes by itself. So Inspect sends none.
func TestInspect_Serverless(t *testing.T) {
	var paths []string
	s := counting(t, 200, counted+`}`, &paths)
	if l, err := s.Output(state.OutputRef{}).Inspect(t.Context(), true); err != nil || !l.IsEmpty() {
		t.Errorf("%+v (%v)", l, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "/_refresh") {
			t.Errorf("%s is requested", path)
		}
	}
}
