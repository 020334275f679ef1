// Package program builds the programs that end-to-end tests run, once for each test package.
package program

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/test/testmain"
)

// Function has the build tags of a Lambda function, as it is released.
const Function = "lambda.norpc,grpcnotrace"

// Main is the body of a TestMain. It builds main packages of this module, whose folders have names such as
// ./cmd/tablewake, with build tags ("" for none), and sets the path of each program. Then it calls run and removes the
// programs. It returns the result of run, or 1 if a program does not build. It must be called in a folder three levels
// below the root of the module.
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
