package consume

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The programs under test, built once.
var tablewake, streamserver string

func TestMain(m *testing.M) {
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tablewake-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for path, program := range map[string]*string{"./cmd/tablewake": &tablewake, "./test/streamserver": &streamserver} {
		*program = filepath.Join(dir, filepath.Base(path))
		cmd := exec.Command("go", "build", "-o", *program, path)
		cmd.Dir = filepath.Join("..", "..", "..")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", path, err, out)
			return 1
		}
	}
	return m.Run()
}
