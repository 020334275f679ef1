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
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/configtest"
	"github.com/tablewake/tablewake/cmd/internal/consume"
	"github.com/tablewake/tablewake/cmd/internal/explain"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/health"
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

// gcBallast lets 8 MB of garbage stand beside what is alive, and as much again as is
// alive. A page is alive for milliseconds, so a heap of a few megabytes would be collected
// hundreds of times a second. The collector lets the heap double: it counts in 8 MB here that
// nobody touches, and that are no memory of the machine's therefore. A limit of memory in its
// place would have what needs more than that collected without end. GOGC and GOMEMLIMIT override it.
func gcBallast() []byte {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, 8<<20)
}

// commands are those of tablewake.
var commands = []func(cli.Streams) *cobra.Command{
	replay.New, explain.New, configtest.NewValidate, configtest.New, replay.NewRecord,
	query.New, why.New, redrive.New, explain.NewCost, archive.NewAthena, archive.NewCompact, adopt.NewPurge, adopt.New, template.New,
	consume.New, health.New, fleet.NewStatus, fleet.NewLeases,
}

// version is a release's; what links one sets it (-X main.version=v1.2.3).
var version string

// release is the version, or what the go command knows of where the program is from.
func release() string {
	built := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		built = cmp.Or(info.Main.Version, built)
	}
	return cmp.Or(version, built)
}
