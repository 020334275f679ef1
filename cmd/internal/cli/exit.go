package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// What the exit code of every command says.
const (
	ExitOK          = 0
	ExitFailure     = 1
	ExitUsage       = 2
	ExitConfig      = 3
	ExitDeadLetters = 4
	ExitInterrupted = 5
	ExitUnwell      = 6
	ExitUnread      = 10
)

const exitCodes = `Exit codes:
  0  all went well
  1  something failed; the message says what to do
  2  the command line is wrong
  3  the configuration is wrong, or a file of its tests
  4  finished, and some of the input could not be decoded or delivered: it is named,
     and what was a record is kept in dead letters
  5  interrupted before the end, or stopped before all was written; the same command continues
  6  status: something needs attention, and PROBLEM lines name it; consume: a shard is stopped, as at a gap
  10 consume: --idle-timeout passed, and not all that the stream has was read and written
`

// ExitError is an error with the exit code that it ends the process with.
type ExitError struct {
	code int
	err  error
}

// Exit is an error that ends the process with a code; err may be nil, as of a result that was printed.
func Exit(code int, err error) error { return &ExitError{code, err} }

// Error is that of the cause, "" if there is none.
func (e *ExitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.err }

// NoArguments is cobra's check of a command that takes flags only, with a usage error.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usagef("%s takes no argument, and %q is one; see `%[1]s --help`", c.CommandPath(), args[0])
}

// Usagef is an error of the command line.
func Usagef(format string, args ...any) error {
	return Exit(ExitUsage, fmt.Errorf(format, args...))
}

// Some is cobra's check of a command that takes arguments; without any the message is a usage error.
func Some(message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return Usagef("%s", message)
		}
		return nil
	}
}

// Exactly is cobra's check of the number of arguments, with a usage error.
func Exactly(least, most int, usage string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return Usagef("usage: %s %s", c.CommandPath(), usage)
		}
		return nil
	}
}
