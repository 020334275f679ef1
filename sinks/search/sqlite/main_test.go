package sqlite_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// checks is on how many streams a property runs: a file is slow to open.
const checks = "6"

func TestMain(m *testing.M) {
	if os.Getenv(childDir) != "" {
		child()
		return
	}
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
