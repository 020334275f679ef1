//go:build race

package simulation

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestMain runs the tests without the race detector, with the same flags: it has nothing to find in worlds of one
// thread each, and makes them ten times as slow.
func TestMain(*testing.M) {
	os.Exit(withoutRace())
}

func withoutRace() int {
	dir, err := os.MkdirTemp("", "tablewake-simulation-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "simulation.test")
	if out, err := exec.Command("go", "test", "-c", "-o", program, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build without the race detector: %v\n%s", err, out)
		return 1
	}
	cmd := exec.Command(program, os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
