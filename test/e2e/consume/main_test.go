package consume

import (
	"os"
	"testing"

	"github.com/tablewake/tablewake/test/e2e/program"
	"github.com/tablewake/tablewake/test/testmain"
)

// Paths of the programs under test, which are built once.
var tablewake, streamserver string

func TestMain(m *testing.M) {
	os.Exit(testmain.WithoutRace(func() int {
		return program.Main(m.Run, "", map[string]*string{"./cmd/tablewake": &tablewake, "./test/streamserver": &streamserver})
	}))
}
