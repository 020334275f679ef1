// Package testmain runs the tests of a package. The tests fail if a goroutine outlives them.
package testmain

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// Option prepares the process before the tests run.
type Option func()

// Checks sets the number of checks of a property, unless the flag -rapid.checks is given. It is for slow stores.
func Checks(n int) Option {
	return func() {
		flag.Parse()
		isGiven := false
		flag.Visit(func(f *flag.Flag) { isGiven = isGiven || f.Name == "rapid.checks" })
		if isGiven {
			return
		}
		if err := flag.Set("rapid.checks", strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
}

// Child makes the process a child of a test if the environment variable is set: it calls run with the
// variable's value, and exits.
func Child(variable string, run func(value string)) Option {
	return func() {
		if value := os.Getenv(variable); value != "" {
			run(value)
			os.Exit(0)
		}
	}
}

// Run runs the tests and exits. TestMain calls it and nothing else.
func Run(m *testing.M, opts ...Option) { os.Exit(Code(m, opts...)) }

// Code runs the tests and returns the exit code, for a TestMain that cleans up afterwards.
func Code(m *testing.M, opts ...Option) int {
	for _, o := range opts {
		o()
	}
	code := m.Run()
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintf(os.Stderr, "goroutines outlive the tests: %v\n", err)
		return 1
	}
	return 0
}
