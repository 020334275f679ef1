package configtest

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// checks is on how many files a property runs, unless the command line says
// otherwise: each test of a file opens stores.
const checks = "20"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", checks); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
