package opensearch_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/sinks/search/searchtest"
)

func TestRepairs(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]opensearch.Mode{"Exact": opensearch.Exact, "Fast": opensearch.Fast} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
			ix := index(t, roomy, "")
			searchtest.RunRepairs(t, searchtest.RepairSuite{
				Index:   ix,
				Seconds: mode == opensearch.Fast,
				Open: func(t *testing.T) searchtest.RepairedStore {
					hook := &hooked{}
					return hookedStore{open(t, opensearch.Options{Mode: mode, Transport: hook}), hook}
				},
				Set:     func(t *testing.T, id, doc string) { ask(t, roomy, http.MethodPut, "/"+ix+"/_doc/"+id, doc) },
				Remove:  func(t *testing.T, id string) { ask(t, roomy, http.MethodDelete, "/"+ix+"/_doc/"+id, "") },
				Between: func(s searchtest.RepairedStore, do func()) { s.(hookedStore).hook.next(do) },
			})
		})
	}
}

// hookedStore is a store and the transport of its requests.
type hookedStore struct {
	*opensearch.Store
	hook *hooked
}

// hooked is a transport that runs a function before the next bulk request.
type hooked struct {
	mu sync.Mutex
	do func()
}

func (h *hooked) next(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.do = do
}

func (h *hooked) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/_bulk") {
		h.mu.Lock()
		do := h.do
		h.do = nil
		h.mu.Unlock()
		if do != nil {
			do()
		}
	}
	return http.DefaultTransport.RoundTrip(r)
}
