package backfill

import (
	"os"
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// SQLite takes ten times as long under the race detector, which other tests of the stores and the consumer run under.
func TestMain(m *testing.M) {
	os.Exit(testmain.WithoutRace(func() int { return testmain.Code(m) }))
}
