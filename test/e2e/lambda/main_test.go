package lambda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/tablewake/tablewake/test/faults"
)

// The programs under test, built once: the functions as they are deployed.
var bootstrap, breaking, tablewake, streamserver string

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
	for path, program := range map[string]*string{
		"./cmd/lambda": &bootstrap, "./test/e2e/lambda/breaking": &breaking, "./cmd/tablewake": &tablewake, "./test/streamserver": &streamserver,
	} {
		*program = filepath.Join(dir, filepath.Base(path))
		cmd := exec.Command("go", "build", "-tags", "lambda.norpc,grpcnotrace", "-o", *program, path)
		cmd.Dir = filepath.Join("..", "..", "..")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", path, err, out)
			return 1
		}
	}
	code := m.Run()
	if code == 0 {
		bleve := goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker") // runs from the start
		if err := goleak.Find(append(faults.Leaks(), bleve)...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}
