package lambda

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/tablewake/tablewake/test/e2e/program"
)

// The programs under test, built once: the functions as they are deployed.
var bootstrap, breaking, tablewake, streamserver string

func TestMain(m *testing.M) {
	os.Exit(program.Main(func() int { return leavingNothing(m) }, program.Function, map[string]*string{
		"./cmd/lambda": &bootstrap, "./test/e2e/lambda/breaking": &breaking, "./cmd/tablewake": &tablewake, "./test/streamserver": &streamserver,
	}))
}

// leavingNothing runs the tests, and sees that they leave nothing running.
func leavingNothing(m *testing.M) int {
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}
