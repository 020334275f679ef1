package opensearch_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/sinks/state"
)

// someone is a server with one prepared answer for each path. An answer may begin with its status. Other paths are not
// found.
type someone map[string]string

func (s someone) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := s[r.URL.Path]
	status := http.StatusOK
	if withoutStatus, is404 := strings.CutPrefix(body, "404 "); is404 {
		status, body = http.StatusNotFound, withoutStatus
	}
	if !ok {
		status, body = http.StatusNotFound, `{"error":{"type":"index_not_found_exception"},"status":404}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// Open fails if another index or alias has the name of the index of records.
func TestRecords_NameIsTaken(t *testing.T) {
	for _, taken := range []string{
		`{"tablewake":{"mappings":{"properties":{"pipeline":{"type":"text"}}},"settings":{}}}`,
		`{"tables":{"aliases":{"tablewake":{}},"mappings":{},"settings":{}}}`,
	} {
		s := open(t, opensearch.Options{URL: "http://127.0.0.1:1", Mode: opensearch.Fast, Transport: someone{"/tablewake": taken},
			Indexes: &opensearch.Indexes{Pipeline: "shop", Sink: "docs", Name: parse(t, "docs")}})
		if err := s.Open(t.Context()); !pipeline.IsFatal(err) || !strings.Contains(err.Error(), "index tablewake") || !strings.Contains(err.Error(), "rename it") {
			t.Errorf("%s: %v", taken, err)
		}
	}
}

// A proxy's answer {} does not show that an index or the record of the sink is missing.
func TestIdentity_ForeignAnswer(t *testing.T) {
	const (
		recordPath, listPath, indexPath = "/tablewake/_doc/shop,docs", "/docs,docs.tw1", "/docs.tw1"
		record                          = `{"found":true,"_seq_no":1,"_primary_term":1,"_source":{"record":"{\"made\":{\"docs\":\"u1\"}}"}}`
		missing                         = "index docs is missing"
		proxy                           = "is a proxy in between?"
	)
	for name, tt := range map[string]struct {
		answers someone
		want    string
	}{
		"the index is deleted":                   {someone{recordPath: record, listPath: "{}"}, missing},
		"another index has the name as an alias": {someone{recordPath: record, listPath: "{}", indexPath: `{"docs-2":{}}`}, missing},
		"a proxy answers instead of a list":      {someone{recordPath: record, listPath: "{}", indexPath: "{}"}, proxy},
		"a proxy answers {} and has no index":    {someone{recordPath: record, listPath: "{}", indexPath: "404 {}"}, proxy},
		"a proxy has no index":                   {someone{recordPath: record, listPath: "{}", indexPath: `404 {"status":404,"error":"Not Found"}`}, proxy},
		"a proxy answers instead of a record":    {someone{recordPath: "{}", listPath: "{}"}, proxy},
		"a proxy has no record":                  {someone{recordPath: "404 {}", listPath: "{}"}, proxy},
		"the list of a proxy has the index after all": {someone{recordPath: record, listPath: "{}",
			indexPath: `{"docs.tw1":{"mappings":{"_meta":{"tablewake":{"pipeline":"shop","sink":"docs","index":"docs"}}}}}`}, proxy},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, opensearch.Options{URL: "http://127.0.0.1:1", Mode: opensearch.Fast, Transport: tt.answers,
				Indexes: &opensearch.Indexes{Pipeline: "shop", Sink: "docs", Name: parse(t, "docs")}})
			_, err := s.Output(state.OutputRef{}).Identity(t.Context())
			_, isTransient := pipeline.Retryable(err)
			if err == nil || !strings.Contains(err.Error(), tt.want) || isTransient != (tt.want == proxy) {
				t.Errorf("transient %t: %v", isTransient, err)
			}
		})
	}
}

// A proxy's answer {} to the question for a document is not an empty document.
func TestReadStored_ForeignAnswer(t *testing.T) {
	s := open(t, opensearch.Options{URL: "http://127.0.0.1:1", Mode: opensearch.Fast, Transport: someone{"/docs/_doc/a": "{}"}})
	_, err := s.ReadStored(t.Context(), "docs", "a", "")
	if _, isTransient := pipeline.Retryable(err); !isTransient || !strings.Contains(err.Error(), "is a proxy in between?") {
		t.Errorf("transient %t: %v", isTransient, err)
	}
}
