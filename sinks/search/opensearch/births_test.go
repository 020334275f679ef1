package opensearch_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/sinks/search/searchtest"
)

func TestBirths(t *testing.T) {
	t.Parallel()
	ix := index(t, roomy, "")
	searchtest.Births(t, open(t, opensearch.Options{}), func(id string, n int, birth string, gone bool) search.Mutation {
		m := mutation(ix, id, n)
		if gone {
			m = tombstone(ix, id, n)
		}
		if m.Birth = birth; birth != "" {
			m.Doc = bytes.Replace(m.Doc, []byte(`"by":`), fmt.Appendf(nil, `"birth":%q,"by":`, birth), 1)
		}
		return m
	})
}
