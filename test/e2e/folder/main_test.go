package folder

import (
	"os"
	"testing"

	"github.com/tablewake/tablewake/test/e2e/program"
)

// The program under test, built once.
var tablewake string

func TestMain(m *testing.M) {
	os.Exit(program.Main(m.Run, "", map[string]*string{"./cmd/tablewake": &tablewake}))
}
