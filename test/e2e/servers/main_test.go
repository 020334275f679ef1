package servers

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tablewake/tablewake/test/faults"
)

func TestMain(m *testing.M) {
	bleve := goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker") // runs from the start
	goleak.VerifyTestMain(m, append(faults.Leaks(), bleve)...)
}
