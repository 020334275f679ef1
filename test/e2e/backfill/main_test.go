package backfill

import (
	"os"
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// TestMain runs the tests without the race detector, because SQLite takes ten times as long with it. Other tests of the
// stores and the consumer run with the race detector.
func TestMain(m *testing.M) {
	os.Exit(testmain.WithoutRace(func() int { return testmain.Code(m) }))
}
