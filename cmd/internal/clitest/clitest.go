// Package clitest runs command lines in the process of a test.
package clitest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// Program is the list of commands that a test runs.
type Program []func(cli.Streams) *cobra.Command

// Main runs a command line, and returns its exit code.
func (p Program) Main(args []string, s cli.Streams) int {
	if s.In == nil {
		s.In = strings.NewReader("")
	}
	ctx, stop := cli.WithStopSignals(context.Background())
	defer stop()
	return cli.Run(ctx, args, s, "(test)", p)
}

// Run runs a command line, requires its exit code, and returns its output.
func (p Program) Run(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := p.Main(args, cli.Streams{Out: &out, Err: &errs}); got != code {
		t.Fatalf("tablewake %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// TestMain runs the tests of a package. It provides a program named tablewake that has these commands, and [Apart] runs
// that program.
func (p Program) TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"tablewake": func() {
		os.Exit(p.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}})
}

// Apart runs a command line in a process of its own, so that tests can run in parallel. env is added to the environment
// of the process. Apart fails the test unless the exit code is code, and returns the whole output.
func Apart(t *testing.T, env []string, code int, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "tablewake", args...)
	cmd.Env = append(os.Environ(), env...)
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("tablewake %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return string(out)
}

// Order returns the record of a new order, a line of JSON.
func Order(key, sequence string) string {
	return `{"eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678","eventName":"INSERT","dynamodb":{"SequenceNumber":"` +
		sequence + `","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"` + key + `"}},"NewImage":{"PK":{"S":"` + key +
		`"},"Status":{"S":"paid"}}}}` + "\n"
}
