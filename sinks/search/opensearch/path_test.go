package opensearch_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
)

// An access policy sees only the paths of requests. If all documents of a request have one index, the path names the
// index and the lines name none. If they have several indexes, each line names its index.
func TestPathsNameTheIndex(t *testing.T) {
	for name, c := range map[string]struct {
		indexes []string
		path    string
		named   int // number of lines that name an index
	}{
		"one":     {[]string{"products", "products"}, "/products/_bulk", 0},
		"several": {[]string{"products", "orders"}, "/_bulk", 2},
	} {
		t.Run(name, func(t *testing.T) {
			var path, body string
			s, err := opensearch.New(opensearch.Options{URL: "http://search.example.com", Mode: opensearch.Fast, Transport: roundTrip(func(q *http.Request) (*http.Response, error) {
				b, err := io.ReadAll(q.Body)
				path, body = q.URL.Path, string(b)
				return answer(200, `{"items":[{"index":{"status":201,"result":"created"}},{"index":{"status":201,"result":"created"}}]}`), err
			})})
			if err != nil {
				t.Fatal(err)
			}
			rs, err := s.Apply(t.Context(), []search.Mutation{mutation(c.indexes[0], "a", 1), mutation(c.indexes[1], "b", 1)})
			if err != nil || rs[0].Err != nil || rs[1].Err != nil {
				t.Fatalf("%v, %v", rs, err)
			}
			if n := strings.Count(body, `"_index"`); path != c.path || n != c.named {
				t.Errorf("a request to %s whose lines name %d indexes, want %s and %d\n%s", path, n, c.path, c.named, body)
			}
		})
	}
}
