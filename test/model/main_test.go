package model_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// checks is how many configurations a property is tried on, each of which opens
// stores. -rapid.checks says otherwise.
const checks = "25"

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
