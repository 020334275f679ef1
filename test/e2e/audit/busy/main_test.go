package busy

import (
	"os"
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// SQLite takes ten times as long under the race detector, which the tests of cmd/internal/audit run under.
func TestMain(m *testing.M) {
	os.Exit(testmain.WithoutRace(func() int { return testmain.Code(m) }))
}
