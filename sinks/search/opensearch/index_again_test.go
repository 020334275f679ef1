package opensearch_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	nodes "github.com/tablewake/tablewake/test/server"
)

const noShard = `{"error":{"type":"no_shard_available_action_exception"},"status":503}`

// young is a server whose index of records was just created. The first reads of a record fail; shardless is their
// number.
// Nothing else exists, and every write succeeds.
type young struct {
	shardless int
	status    int
	reads     int
}

func (y *young) answer(r *http.Request) (*http.Response, error) {
	switch {
	case r.Method != http.MethodGet:
		return answer(http.StatusOK, `{}`), nil
	case strings.HasPrefix(r.URL.Path, "/tablewake/_doc/"):
		if y.reads++; y.reads <= y.shardless {
			return answer(y.status, noShard), nil
		}
	}
	return answer(http.StatusNotFound, `{"error":{"type":"index_not_found_exception"},"status":404}`), nil
}

func (y *young) open(t *testing.T) *opensearch.Store {
	return open(t, opensearch.Options{URL: "http://127.0.0.1:1", Mode: opensearch.Fast, Transport: roundTrip(y.answer),
		Indexes: &opensearch.Indexes{Pipeline: "shop", Sink: "docs", Name: parse(t, "docs")}})
}

// A process that finds an index that was just created waits for the shard of the index. It waits for a limited time,
// and stops when its context ends. It does not wait after an error that is not transient.
func TestOpen_WaitsForAShard(t *testing.T) {
	t.Run("it comes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			y := &young{shardless: 2, status: http.StatusServiceUnavailable}
			if err := y.open(t).Open(t.Context()); err != nil || y.reads < 3 {
				t.Errorf("%d reads, %v", y.reads, err)
			}
		})
	})
	t.Run("it comes while the record is read before Open", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			y := &young{shardless: 2, status: http.StatusServiceUnavailable}
			if _, found, err := y.open(t).Fingerprint(t.Context(), "shop", "docs"); err != nil || found || y.reads < 3 {
				t.Errorf("found %v, %d reads, %v", found, y.reads, err)
			}
		})
	})
	t.Run("it does not", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			y, began := &young{shardless: 1 << 30, status: http.StatusServiceUnavailable}, time.Now()
			err := y.open(t).Open(t.Context())
			if _, transient := pipeline.Retryable(err); !transient || !strings.Contains(err.Error(), "no_shard_available_action_exception (503)") {
				t.Errorf("the error is %v", err)
			}
			if took := time.Since(began); took < 20*time.Second || took > 30*time.Second {
				t.Errorf("it gave up after %v", took)
			}
		})
	})
	t.Run("the time is over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			y, began := &young{shardless: 1 << 30, status: http.StatusServiceUnavailable}, time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			if err := y.open(t).Open(ctx); err == nil || time.Since(began) != 3*time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	})
	t.Run("it is refused", func(t *testing.T) {
		y := &young{shardless: 1 << 30, status: http.StatusForbidden}
		if err := y.open(t).Open(t.Context()); !pipeline.IsFatal(err) || y.reads != 1 {
			t.Errorf("%d reads, %v", y.reads, err)
		}
	})
}

// Processes that start at the same time on an empty server all open their sinks.
func TestOpen_ManyOnAFreshServer(t *testing.T) {
	t.Parallel()
	url := nodes.OpenSearch().StartFor(t).Endpoint()
	for round := range 5 {
		ask(t, url, http.MethodDelete, "/tablewake", "")
		var all sync.WaitGroup
		for range 12 {
			s := open(t, opensearch.Options{URL: url, Indexes: &opensearch.Indexes{Pipeline: "shop", Sink: "docs", Name: parse(t, "docs")}})
			all.Go(func() {
				if err := s.Open(t.Context()); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		all.Wait()
		ask(t, url, http.MethodDelete, "/docs.tw1", "")
	}
}
