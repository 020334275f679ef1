package cli_test

import (
	"context"
	"os"
	"strings"

	"github.com/tablewake/tablewake/cmd/cli"
)

// A test of a program that calls Main runs its command lines with Run.
func ExampleRun() {
	cli.Run(context.Background(), []string{"replay", "--local", "out"}, strings.NewReader(""), os.Stdout, os.Stdout)
	// Output:
	// tablewake: name what to replay: files, folders, s3://BUCKET/PREFIX, or - for standard input
}
