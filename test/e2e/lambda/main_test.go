package lambda

import (
	"os"
	"testing"

	"github.com/tablewake/tablewake/test/e2e/program"
	"github.com/tablewake/tablewake/test/testmain"
)

// Paths of the programs under test, which are built once. The functions are built as they are deployed.
var bootstrap, breaking, tablewake, streamserver string

func TestMain(m *testing.M) {
	os.Exit(testmain.WithoutRace(func() int {
		return program.Main(func() int { return testmain.Code(m) }, program.Function, map[string]*string{
			"./cmd/lambda": &bootstrap, "./test/e2e/lambda/breaking": &breaking, "./cmd/tablewake": &tablewake, "./test/streamserver": &streamserver,
		})
	}))
}
