package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/shardreader/replay"
)

// Streams are the process's standard streams.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs one command line of the program whose commands are given, and returns its exit code. The first
// interrupt stops the work softly; the second ends the process at once.
func Run(args []string, s Streams, commands func(Streams) *cobra.Command) int {
	out, errs := &printable{w: s.Out}, &printable{w: s.Err}
	defer func() { _ = errs.end() }() // of it nobody can be told
	var logs logFlags
	log := &logWriter{w: errs, flags: &logs}
	defer log.end()
	s.Out, s.Err = out, log
	ctx, stop := signal.NotifyContext(context.Background(), StopSignals()...)
	defer stop()
	context.AfterFunc(ctx, stop)

	var prof profile
	root := commands(s)
	prepare(root, &prof, &logs)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	if failed := prof.stop(s.Err); err == nil {
		err = failed
	}
	if failed := out.end(); failed != nil && !errors.Is(err, failed) {
		err = unwritten(err, failed)
	}
	if err == nil {
		return ExitOK
	}
	code := ExitCode(err)
	if code == ExitUsage {
		logs.find(args)
	}
	log.failed(err, code)
	return code
}

// ExitCode is what a command ends the process with that failed with err.
func ExitCode(err error) int {
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.code
	}
	if _, ok := errors.AsType[*replay.StreamError](err); ok {
		return ExitUsage // --stream-arn is missing
	}
	return ExitFailure
}

// unwritten is the error of a command that ended with err and whose output could not be written.
func unwritten(err, failed error) error {
	failed = fmt.Errorf("the output cannot be written, or not all of it: %w: run the command again where it can be", failed)
	if err == nil {
		return failed
	}
	return errors.Join(err, failed)
}

// prepare gives the program the flags and the errors that all its commands share.
func prepare(root *cobra.Command, prof *profile, logs *logFlags) {
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		logs.set = c.Flags().Changed("log-level")
		return prof.start()
	}
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return Usagef("%w; see `%s --help`", err, c.CommandPath())
	})
	root.PersistentFlags().StringVar(&prof.dir, "profile", "", "write cpu.pprof and heap.pprof of this run into this `folder`")
	logs.add(root)
	root.SetHelpTemplate(root.HelpTemplate() + "\n" + exitCodes)
}
