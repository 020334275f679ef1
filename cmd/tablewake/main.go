// Command tablewake carries the changes of a DynamoDB table to views, a search index
// and an archive, and shows what it would do and what it did.
package main

import (
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/adopt"
	"github.com/tablewake/tablewake/cmd/internal/archive"
	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/explain"
	"github.com/tablewake/tablewake/cmd/internal/query"
	"github.com/tablewake/tablewake/cmd/internal/redrive"
	"github.com/tablewake/tablewake/cmd/internal/replay"
	"github.com/tablewake/tablewake/cmd/internal/why"
)

func main() {
	ballast := gcBallast()
	code := cli.Run(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, commands)
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

// commands is the program with all its commands.
func commands(s cli.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "tablewake",
		Short: "Carry every change of a DynamoDB table to views, a search index and an archive",
		Long: `tablewake carries every change of a DynamoDB table to the places that must follow
it: materialized views, a search index, an archive, notifications.`,
		Example: `  # The whole pipeline over saved records, into a folder on this machine
  tablewake replay -c tablewake.yaml --local out stream.jsonl

  # The changes of the table as they are written, for as long as it runs
  tablewake consume -c tablewake.yaml --live

  # What would happen to each record, and why
  tablewake explain -c tablewake.yaml stream.jsonl

  # What stands in the views afterwards
  tablewake query view --local out`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usagef("there is no command %q; see `tablewake --help`", args[0])
			}
			return nil
		},
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
		Version: release(),
	}
	root.AddCommand(replay.New(s), explain.New(s), newValidate(s), newTest(s), replay.NewRecord(s),
		query.New(s), why.New(s), redrive.New(s), explain.NewCost(s), archive.NewAthena(s), archive.NewCompact(s), adopt.NewPurge(s), adopt.New(s), newTemplate(s),
		newConsume(s), newHealth(s), newStatus(s), newLeases(s))
	return root
}
