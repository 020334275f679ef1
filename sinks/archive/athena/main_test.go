package athena_test

import (
	"flag"
	"testing"
)

// checks is on how many streams a property runs, unless the command line says
// otherwise: each writes objects of many columns.
const checks = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", checks); err != nil {
			panic(err)
		}
	}
	m.Run()
}
