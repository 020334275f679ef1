package handoff

import (
	"os"
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

// A world has one thread, in which the race detector finds nothing.
func TestMain(m *testing.M) {
	os.Exit(testmain.WithoutRace(func() int { return testmain.Code(m) }))
}
