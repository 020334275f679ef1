package busy

import (
	"os"
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// TestMain runs the tests without the race detector, because SQLite takes ten times as long with it. The tests of
// cmd/internal/audit run with the race detector.
func TestMain(m *testing.M) {
	os.Exit(testmain.WithoutRace(func() int { return testmain.Code(m) }))
}
