package handoff

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// A world has one thread, so the race detector finds nothing.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // worlds are small, and there are many
	os.Exit(testmain.WithoutRace(func() int { return testmain.Code(m) }))
}
