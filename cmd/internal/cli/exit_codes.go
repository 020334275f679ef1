package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// The exit codes of all commands. exitCodes, a page of the help, explains them.
const (
	ExitOK          = 0
	ExitFailure     = 1
	ExitUsage       = 2
	ExitConfig      = 3
	ExitDeadLetters = 4
	ExitInterrupted = 5
	ExitUnhealthy   = 6
	ExitPlanned     = 7
	ExitDifferences = 8
	ExitIncomplete  = 9
	ExitUnread      = 10
)

const exitCodes = `Exit codes:
  0  success
  1  something failed; the message says what to do
  2  the command line is wrong
  3  the configuration, or a file of its tests, is wrong; validate --live: or the account does not have
     what the configuration needs
  4  finished, but some of the input could not be decoded or delivered: it is named. Records are stored as
     dead letters; a file that is broken, or that has no records, is not
  5  interrupted or stopped before everything was written; the same command continues
  6  status: there is a problem, and PROBLEM lines name it; consume: a shard is stopped, for example at a gap
  7  plan, gaps: there is something to do
  8  audit: a sink differs from its table
  9  audit: no difference was found, but not everything could be compared
  10 consume: --idle-timeout passed, but not everything in the stream was read and written
`

// ExitError is an error with the exit code of the process.
type ExitError struct {
	code int
	err  error
}

// WithExitCode returns an error that ends the process with code. If err is nil, [Run] prints no message: the command
// has printed its result.
func WithExitCode(code int, err error) error { return &ExitError{code, err} }

// Interrupted returns err. If ctx has ended, the returned error has the exit code [ExitInterrupted], and also says that
// the user can continue with the same command.
func Interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if exit, hasCode := errors.AsType[*ExitError](err); hasCode && exit.code == ExitInterrupted {
		return err
	}
	return WithExitCode(ExitInterrupted, fmt.Errorf("interrupted: the same command continues: %w", err))
}

// Error returns the text of the cause, or "" if there is no cause.
func (e *ExitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.err }

// NoArguments is the cobra.PositionalArgs of a command that takes only flags.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usagef("%s takes no argument, and %q is one; see `%[1]s --help`", c.CommandPath(), args[0])
}

// Usagef returns an error with [ExitUsage].
func Usagef(format string, args ...any) error {
	return WithExitCode(ExitUsage, fmt.Errorf(format, args...))
}

// AtLeastOneArgument returns a check for a command that needs at least one argument. message is the error of a command
// without arguments.
func AtLeastOneArgument(message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return Usagef("%s", message)
		}
		return nil
	}
}

// ArgumentRange returns a check for a command that takes minArgs to maxArgs arguments. usage describes them in the
// error.
func ArgumentRange(minArgs, maxArgs int, usage string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < minArgs || len(args) > maxArgs {
			return Usagef("usage: %s %s", c.CommandPath(), usage)
		}
		return nil
	}
}
