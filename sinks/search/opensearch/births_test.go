package opensearch_test

import (
	"testing"

	"github.com/tablewake/tablewake/sinks/search/opensearch"
	"github.com/tablewake/tablewake/sinks/search/searchtest"
)

func TestBirths(t *testing.T) {
	t.Parallel()
	searchtest.Births(t, open(t, opensearch.Options{}), index(t, roomy, ""))
}
