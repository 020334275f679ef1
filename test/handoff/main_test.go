package handoff

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// The tests run without the race detector, because a world has one thread.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // worlds are small, and there are many
	os.Exit(testmain.WithoutRace(func() int { return testmain.Code(m) }))
}
