package dir_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// checks is on how many streams a property runs, unless the command line says
// otherwise: what is written is synced.
const checks = "25"

func TestMain(m *testing.M) {
	if os.Getenv(childFolder) != "" {
		runChild()
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
