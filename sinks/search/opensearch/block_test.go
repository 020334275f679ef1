package opensearch_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// An index that refuses writes, because of a block or a full disk, fails its documents with a transient error. The
// error says what to do. Documents of other indexes are written.
func TestBlockedIndex(t *testing.T) {
	t.Parallel()
	s := open(t, opensearch.Options{})
	sound := index(t, roomy, "")
	ms := []search.Mutation{mutation(sound, "a", 1)}
	blocks := []string{"index.blocks.write", "index.blocks.read_only_allow_delete"}
	for _, block := range blocks {
		ix := index(t, roomy, "")
		ask(t, roomy, http.MethodPut, "/"+ix+"/_settings", fmt.Sprintf(`{%q:true}`, block))
		ms = append(ms, mutation(ix, "a", 1))
	}
	rs, err := s.Apply(t.Context(), ms)
	if err != nil {
		t.Fatal(err)
	}
	if rs[0].Err != nil {
		t.Errorf("in the index that takes writes: %v", rs[0].Err)
	}
	for i, status := range []string{"(403)", "(429)"} {
		err := rs[i+1].Err
		if _, passes := pipeline.Retryable(err); !passes || !strings.Contains(err.Error(), "cluster_block_exception "+status) || !strings.Contains(err.Error(), "index.blocks") {
			t.Errorf("%s: %v", blocks[i], err)
		}
		ask(t, roomy, http.MethodPut, "/"+ms[i+1].Index+"/_settings", fmt.Sprintf(`{%q:null}`, blocks[i]))
	}
	if failed, _ := insist(t, s, ms); len(failed) > 0 {
		t.Errorf("without the blocks: %v", failed)
	}
}

// Without Indexes the store creates no index. If the index does not exist, and the server does not create it either,
// the error is fatal and says that an operator must create the index.
func TestNoIndex(t *testing.T) {
	missing := roundTrip(func(*http.Request) (*http.Response, error) {
		return answer(200, `{"items":[{"index":{"status":404,"error":{"type":"index_not_found_exception","reason":"no such index [products] and [action.auto_create_index] is [false]"}}}]}`), nil
	})
	err := single(t, opensearch.Options{URL: "http://search.example.com", Transport: missing})
	if !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "create the index") {
		t.Errorf("error: %v", err)
	}
}

// An answer that does not come from OpenSearch stops the pipeline or is retried. No document is reported as written.
func TestNoServer(t *testing.T) {
	for status, body := range map[int]string{405: `{"message":"no"}`, 301: ""} {
		err := single(t, opensearch.Options{URL: "http://search.example.com", Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return answer(status, body), nil
		})})
		if !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "address of an OpenSearch server") {
			t.Errorf("%d: %v", status, err)
		}
	}
	for status, body := range map[int]string{400: "", 403: "<html>", 404: "<html>", 502: "<html>"} {
		err := single(t, opensearch.Options{URL: "http://search.example.com", Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return answer(status, body), nil
		})})
		if _, passes := pipeline.Retryable(err); !passes {
			t.Errorf("%d with %q: %v", status, body, err)
		}
	}
	for _, body := range []string{"", "<html>", `{}`, `{"items":[{"index":{}}]}`, `{"items":[{"index":{"status":400}}]}`, `{"items":[]}`, `{"items":[{"index":{"status":200}},{"index":{"status":200}}]}`, `{"items":[{"index":{"sta`} {
		err := single(t, opensearch.Options{URL: "http://search.example.com", Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return answer(200, body), nil
		})})
		if _, passes := pipeline.Retryable(err); !passes {
			t.Errorf("200 with %q: %v", body, err)
		}
	}
}
