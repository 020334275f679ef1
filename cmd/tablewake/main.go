// Command tablewake carries the changes of a DynamoDB table to views, a search index
// and an archive, and shows what it would do and what it did.
package main

import (
	"cmp"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/adopt"
	"github.com/tablewake/tablewake/cmd/internal/archive"
	"github.com/tablewake/tablewake/cmd/internal/audit"
	"github.com/tablewake/tablewake/cmd/internal/backfill"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/configtest"
	"github.com/tablewake/tablewake/cmd/internal/consume"
	"github.com/tablewake/tablewake/cmd/internal/explain"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/gaps"
	"github.com/tablewake/tablewake/cmd/internal/generate"
	"github.com/tablewake/tablewake/cmd/internal/health"
	"github.com/tablewake/tablewake/cmd/internal/plan"
	"github.com/tablewake/tablewake/cmd/internal/query"
	"github.com/tablewake/tablewake/cmd/internal/redrive"
	"github.com/tablewake/tablewake/cmd/internal/replay"
	"github.com/tablewake/tablewake/cmd/internal/template"
	"github.com/tablewake/tablewake/cmd/internal/why"
)

func main() {
	ballast := gcBallast()
	code := cli.Run(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, release(), commands)
	runtime.KeepAlive(ballast)
	os.Exit(code)
}

// gcBallast allocates 8 MB that are never touched, so that a small heap is collected less often. Pages live for
// milliseconds: without the ballast a heap of a few megabytes would be collected hundreds of times a second. The
// ballast needs no physical memory. A memory limit would have the same effect, but a run that needs more than the limit
// would collect all the time. There is no ballast if GOGC or GOMEMLIMIT is set.
func gcBallast() []byte {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, 8<<20)
}

// commands has the constructors of all subcommands, in no special order: help sorts them.
var commands = []func(cli.Streams) *cobra.Command{
	replay.New, explain.New, configtest.NewValidate, configtest.New, replay.NewRecord,
	query.New, why.New, redrive.New, explain.NewCost, archive.NewAthena, archive.NewCompact, adopt.NewPurge, adopt.New, template.New, generate.New,
	plan.New, backfill.New, audit.New, gaps.New, consume.New, health.New, fleet.NewStatus, fleet.NewLeases,
}

// version is the version of a release. The linker sets it: -X main.version=v1.2.3.
var version string

// release returns the version, or the module version of the build info.
func release() string {
	buildVersion := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		buildVersion = cmp.Or(info.Main.Version, buildVersion)
	}
	return cmp.Or(version, buildVersion)
}
