package folder

import (
	"os"
	"testing"

	"github.com/tablewake/tablewake/test/e2e/program"
	"github.com/tablewake/tablewake/test/testmain"
)

// Path of the program under test, which is built once.
var tablewake string

func TestMain(m *testing.M) {
	os.Exit(testmain.WithoutRace(func() int {
		return program.Main(m.Run, "", map[string]*string{"./cmd/tablewake": &tablewake})
	}))
}
