// Command tablewake carries the changes of a DynamoDB table to views, a search index
// and an archive, and shows what it would do and what it did.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/shardreader/replay"
)

func main() {
	room := garbageRoom()
	code := run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	runtime.KeepAlive(room)
	os.Exit(code)
}

// garbageRoom lets 8 MB of garbage stand beside what is alive, and as much again as is
// alive. A page is alive for milliseconds, so a heap of a few megabytes would be collected
// hundreds of times a second. The collector lets the heap double: it counts in 8 MB here that
// nobody touches, and that are no memory of the machine's therefore. A limit of memory in its
// place would have what needs more than that collected without end. GOGC and GOMEMLIMIT override it.
func garbageRoom() []byte {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, 8<<20)
}

// streams are the process's standard streams.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run runs one command line and returns its exit code. The first interrupt stops
// the work softly; the second ends the process at once.
func run(args []string, s streams) int {
	out, errs := &printable{w: s.out}, &printable{w: s.err}
	defer func() { _ = errs.end() }() // of it nobody can be told
	var logs logFlags
	log := &logWriter{w: errs, flags: &logs}
	defer log.end()
	s.out, s.err = out, log
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	context.AfterFunc(ctx, stop)

	var prof profile
	root := newRoot(s, &prof, &logs)
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if failed := prof.stop(s.err); err == nil {
		err = failed
	}
	if failed := out.end(); failed != nil && !errors.Is(err, failed) {
		err = unwritten(err, failed)
	}
	if err == nil {
		return exitOK
	}
	code := exitCode(err)
	if code == exitUsage {
		logs.find(args)
	}
	log.failed(err, code)
	return code
}

// exitCode is what a command ends the process with that failed with err.
func exitCode(err error) int {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	if _, ok := errors.AsType[*replay.StreamError](err); ok {
		return exitUsage // --stream-arn is missing
	}
	return exitFailure
}

// unwritten is the error of a command that ended with err and whose output could not be written.
func unwritten(err, failed error) error {
	failed = fmt.Errorf("the output cannot be written, or not all of it: %w: run the command again where it can be", failed)
	if err == nil {
		return failed
	}
	return errors.Join(err, failed)
}

func newRoot(s streams, prof *profile, logs *logFlags) *cobra.Command {
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
				return usageError("there is no command %q; see `tablewake --help`", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },

		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			logs.set = c.Flags().Changed("log-level")
			return prof.start()
		},

		Version:       release(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError("%w; see `%s --help`", err, c.CommandPath())
	})
	root.PersistentFlags().StringVar(&prof.dir, "profile", "", "write cpu.pprof and heap.pprof of this run into this `folder`")
	logs.add(root)
	root.SetHelpTemplate(root.HelpTemplate() + "\n" + exitCodes)
	root.AddCommand(newReplay(s), newExplain(s), newValidate(s), newTest(s), newRecord(s),
		newQuery(s), newWhy(s), newRedrive(s), newCost(s), newAthena(s), newCompact(s), newPurge(s), newAdopt(s), newTemplate(s),
		newConsume(s), newHealth(s), newStatus(s), newLeases(s))
	return root
}
