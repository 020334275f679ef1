// Package cli is the command line of tablewake for a program of your own. Your program adds Go code to the command
// line: sinks, filters, functions of detectors and functions of entities.
//
//	func main() { cli.Main(sinks.With("crm", newCRM)) }
//
// Every command then knows the Go code that a configuration names. Commands that only plan never make a Go sink. replay
// holds back Go sinks, except those that --custom names. consume runs all Go sinks.
package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	command "github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/commands"
	"github.com/tablewake/tablewake/sinks"
)

// Main runs the command line of the process with the extensions, and ends the process with its exit code. The first
// stop signal stops the command, and the second one kills the process.
func Main(exts ...sinks.Extension) {
	ballast := gcBallast()
	ctx, stop := command.WithStopSignals(context.Background())
	code := Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, exts...)
	stop()
	runtime.KeepAlive(ballast)
	os.Exit(code)
}

// Run runs one command line and returns its exit code. args does not contain the name of the program. Run is for tests
// of a program that calls [Main]. The end of ctx stops the command, as a signal does.
func Run(ctx context.Context, args []string, in io.Reader, stdout, stderr io.Writer, exts ...sinks.Extension) int {
	s := command.Streams{In: in, Out: stdout, Err: stderr, Extensions: exts}
	return command.Run(ctx, args, s, release(), commands.All())
}

// gcBallast allocates 8 MB that are never touched, so that a small heap is collected less often. Pages of records live
// for milliseconds: without the ballast a heap of a few megabytes would be collected hundreds of times a second. The
// ballast needs no physical memory. A memory limit would have the same effect. But a run that needs more memory than
// the limit would collect garbage all the time. If GOGC or GOMEMLIMIT is set, gcBallast returns nil.
func gcBallast() []byte {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, 8<<20)
}

// version is the version of a release. The linker sets it: -X github.com/tablewake/tablewake/cmd/cli.version=v1.2.3.
var version string

// module is the path of tablewake's module.
const module = "github.com/tablewake/tablewake"

// release returns the version of tablewake. It is the version that the linker set, otherwise the version of the module
// in the build information. Without both it is "(devel)".
func release() string {
	buildVersion := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module {
				buildVersion = cmp.Or(m.Version, buildVersion)
			}
		}
	}
	return cmp.Or(version, buildVersion)
}
