package testmain

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// WithoutRace runs the tests of the package and returns the exit code. If the race detector is on, it builds the tests
// without the detector, and runs these with the same flags. It is for tests of other processes or of one thread: the
// detector finds nothing there, and makes the tests ten times as slow.
func WithoutRace(run func() int) int {
	if !raced {
		return run()
	}
	dir, err := os.MkdirTemp("", "tablewake-without-race-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "without.test")
	if out, err := GoAsReleased("test", "-c", "-o", program, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build without the race detector: %v\n%s", err, out)
		return 1
	}
	cmd := exec.Command(program, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// GoAsReleased returns a command of go, such as build, that compiles with the environment and the flags of a release.
// So tests of releases, images and programs share packages in the build cache.
func GoAsReleased(command string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", append([]string{command, "-race=false", "-trimpath", "-gcflags=all="}, args...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd
}
