// Package program builds the programs that end-to-end tests run, once for each package of them.
package program

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/test/testmain"
)

// Function are the build tags of a Lambda function, as it is released.
const Function = "lambda.norpc,grpcnotrace"

// Main is the body of a TestMain: it builds main packages of this module, by their folders as ./cmd/tablewake, with
// build tags ("" for none), sets the path of each, and returns the result of run, or 1 if one does not build. The
// programs are removed then. It is called in a folder three levels below the module's.
func Main(run func() int, tags string, programs map[string]*string) int {
	dir, err := os.MkdirTemp("", "tablewake-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for path, program := range programs {
		*program = filepath.Join(dir, filepath.Base(path))
		cmd := testmain.GoAsReleased("build", "-tags", tags, "-o", *program, path)
		cmd.Dir = filepath.Join("..", "..", "..")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", path, err, out)
			return 1
		}
	}
	return run()
}
