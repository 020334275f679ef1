package configtest

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Bleve's analysis workers live as long as the process.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}
