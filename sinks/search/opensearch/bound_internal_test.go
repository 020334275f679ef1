package opensearch

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
)

// An answer that is too large is a transient error, like a truncated answer. The error says that the answer is too
// large.
func TestLargeAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"a":"` + strings.Repeat("x", 100) + `"}`)) // the client checks the answer
	}))
	defer server.Close()
	o, err := Options{URL: server.URL}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClient(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.transport.CloseIdleConnections()
	if _, err := c.do(t.Context(), http.MethodGet, "/", nil); err != nil {
		t.Fatal(err)
	}
	c.maxAnswerBytes = 50
	_, err = c.do(t.Context(), http.MethodGet, "/", nil)
	if _, passes := pipeline.Retryable(err); !passes || !strings.Contains(err.Error(), "opensearch: the answer: it is larger than 50 bytes") {
		t.Errorf("%v", err)
	}
}
