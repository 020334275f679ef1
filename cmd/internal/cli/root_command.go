package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks"
)

// Streams are the standard streams and the Go code that a program passes to its commands.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	Extensions []sinks.Extension // Go code for the configurations that a command loads. Default: none
}

// Run runs one command line, and returns its exit code. Each function of commands makes one subcommand.
func Run(ctx context.Context, args []string, s Streams, version string, commands []func(Streams) *cobra.Command) int {
	out, errs := &printableWriter{w: s.Out}, &printableWriter{w: s.Err}
	var logs logFlags
	log := &logWriter{w: errs, flags: &logs}
	defer func() {
		log.flush()      // writes to errs
		_ = errs.flush() // its error cannot be reported anywhere
	}()
	s.Out, s.Err = out, log

	var prof profile
	root := newRoot(&prof, &logs)
	root.Version = version
	for _, command := range commands {
		root.AddCommand(command(s))
	}
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	err = cmp.Or(err, prof.stop(s.Err))
	if writeErr := out.flush(); writeErr != nil && !errors.Is(err, writeErr) {
		err = outputError(err, writeErr)
	}
	if err == nil {
		return ExitOK
	}
	code := ExitCode(err)
	if code == ExitUsage { // cobra may have ended before it parsed the log flags
		logs.parseKnown(args)
	}
	log.writeFailure(err, code)
	return code
}

// ExitCode returns the exit code for a command that failed with err.
func ExitCode(err error) int {
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.code
	}
	if _, ok := errors.AsType[*replay.StreamError](err); ok {
		return ExitUsage // --stream-arn is missing
	}
	return ExitFailure
}

// outputError returns the error of a command that ended with err, which may be nil, and whose output failed with
// writeErr.
func outputError(err, writeErr error) error {
	writeErr = fmt.Errorf("the output cannot be written, or not all of it: %w: run the command again where it can be",
		writeErr)
	switch {
	case err == nil:
		return writeErr
	case err.Error() == "": // only an exit code
		return WithExitCode(ExitCode(err), writeErr)
	}
	return errors.Join(err, writeErr)
}

// newRoot returns the root command with the flags and error texts that all commands share.
func newRoot(prof *profile, logs *logFlags) *cobra.Command {
	root := &cobra.Command{
		Use:   "tablewake",
		Short: "Deliver every change of a DynamoDB table to views, a search index and an archive",
		Long: `tablewake delivers every change of a DynamoDB table to materialized views, a search index, an
archive and notifications. Are you new to it? ` + "`tablewake guide`" + ` lists the guides.`,
		Example: `  # The whole pipeline over saved records, into a folder on this machine
  tablewake replay -c tablewake.yaml --local out stream.jsonl

  # The changes of the table as they are written, for as long as it runs
  tablewake consume -c tablewake.yaml --live

  # What would happen to each record, and why
  tablewake explain -c tablewake.yaml stream.jsonl

  # The rows of the views afterwards
  tablewake query view --local out`,
		SuggestionsMinimumDistance: 2,
		Args:                       refuseUnknownCommand,
		RunE:                       func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(c *cobra.Command, args []string) error {
			logs.levelGiven = c.Flags().Changed("log-level")
			if err := refuseEmpty(c, args); err != nil {
				return err
			}
			return prof.start()
		},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&prof.dir, "profile", "",
		"write cpu.pprof and heap.pprof of this run into this `folder`")
	logs.add(root)
	root.SetHelpTemplate(root.HelpTemplate() + "\n`tablewake help exit-codes` explains the exit codes.\n")
	topic := &cobra.Command{Use: "exit-codes", Short: "What the exit codes of all commands mean", Long: exitCodes}
	topic.SetHelpTemplate("{{.Long}}")
	root.AddCommand(topic)
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.RunE = help
		}
	}
	return root
}

// refuseUnknownCommand returns an error if an argument is left, because it names no command.
func refuseUnknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see `tablewake --help`"
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return Usagef("there is no command %q; %s", args[0], hint)
}

// refuseEmpty returns an error if an argument or the value of a flag is empty. The usual cause is a variable of the
// shell that is not set. Most commands would take the empty value for "all" or for the current folder.
func refuseEmpty(c *cobra.Command, args []string) error {
	if c.Name() == cobra.ShellCompRequestCmd {
		return nil // the last argument is the word to complete, which is empty at first
	}
	if slices.Contains(args, "") {
		return Usagef("an argument is empty: give a value, or leave the argument out")
	}
	for _, name := range flagNames(c) {
		f := c.Flags().Lookup(strings.TrimPrefix(name, "--"))
		isEmpty := f != nil && slices.Contains([]string{"", "[]", `[""]`}, f.Value.String())
		if isEmpty && f.Changed {
			return Usagef("%s is empty: give a value, or leave the flag out", name)
		}
	}
	return nil
}

// namedFlagError is an error of pflag that has the name of an unknown flag.
type namedFlagError interface {
	error
	GetSpecifiedName() string
}

// flagError returns the usage error for an error of pflag. If a flag is unknown, it names a similar one.
func flagError(c *cobra.Command, err error) error {
	hint := "see `" + c.CommandPath() + " --help`"
	if flagErr, ok := errors.AsType[namedFlagError](err); ok {
		hint = cmp.Or(NearName("--"+flagErr.GetSpecifiedName(), flagNames(c)), hint)
	}
	return Usagef("%w; %s", err, hint)
}

// help prints the help of a command or a topic. It returns an error if there is no such command or topic.
func help(c *cobra.Command, args []string) error {
	found, rest, err := c.Root().Find(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0 && found == c.Root():
		return found.Args(found, rest)
	case len(rest) > 0:
		return Usagef("%s has no command %q; see `%s --help`", found.CommandPath(), rest[0], found.CommandPath())
	}
	found.InitDefaultHelpFlag()
	return found.Help()
}

// usageOfFlag matches the beginning of a help line about a flag.
var usageOfFlag = regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z0-9-]+)`)

// flagNames returns the flags that the help of a command shows, such as "--sink".
func flagNames(c *cobra.Command) (names []string) {
	for _, match := range usageOfFlag.FindAllStringSubmatch(c.Flags().FlagUsages(), -1) {
		names = append(names, match[1])
	}
	return names
}

// NearName returns a hint such as "did you mean orders?", or "" if none of the names is similar.
func NearName(name string, names []string) string {
	hint := yamlbind.Hint(name, names, "")
	if !strings.HasPrefix(hint, "did you mean") {
		return ""
	}
	return hint
}
