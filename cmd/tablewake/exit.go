package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// What the exit code of every command says.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitConfig      = 3
	exitDeadLetters = 4
	exitInterrupted = 5
	exitUnwell      = 6
	exitUnread      = 10
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

// exitError is an error with the exit code that it ends the process with.
type exitError struct {
	code int
	err  error
}

// Error is that of the cause, "" if there is none.
func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the cause.
func (e *exitError) Unwrap() error { return e.err }

// noArguments is cobra's check of a command that takes flags only, with a usage error.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError("%s takes no argument, and %q is one; see `%[1]s --help`", c.CommandPath(), args[0])
}

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}
