package redrive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/letters"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/redrive"
)

// options are the flags of `redrive`.
type options struct {
	records.Input
	target.Flags
	sink     string
	to       string // the sink to which letters are moved; "": none are moved
	key      string
	classes  []string
	list     bool
	show     string // ID of the letter to show; "": none
	unmasked bool   // print sensitive attributes as they are
	dryRun   bool
	discard  bool
	notify   bool
	verbose  bool
	format   cli.Format
}

// New returns the command redrive.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "redrive -c FILE --local DIR | --live",
		Short: "List and show dead letters, and deliver them to their sinks",
		Long: `redrive delivers dead letters to the sink that failed, and to no other sink. The changes of an item
are delivered in their order. Delivered letters are removed. A quarantined key is released when no
letter of it is left. A letter that fails again stays, with those behind it, and redrive names it.
Records that could not be decoded are decoded again, and go to all sinks that they are for.

--list shows the letters, and --show shows one letter with all its data. Both mask sensitive
attributes. --dry-run counts what would be delivered.

Notifications are published only with --notify. --discard removes letters without delivering them,
for changes that can never be delivered. That sink then loses these changes. The next redrive
delivers the letters that waited after them.

Letters are planned with the present settings of the file. If the sink has a newer version of the
item, the letter is removed and counted as superseded. Letters of a sink that the file no longer has
stay until --to moves them to another sink, or --discard removes them.`,
		Example: `  # List the letters, show one, and count what would be delivered
  tablewake redrive -c tablewake.yaml --local out --list
  tablewake redrive -c tablewake.yaml --local out --show 0f343b0931126a20f133d67c2b018a3b
  tablewake redrive -c tablewake.yaml --local out --dry-run

  # All of it; one sink; one item
  tablewake redrive -c tablewake.yaml --local out
  tablewake redrive -c tablewake.yaml --local out --sink products
  tablewake redrive -c tablewake.yaml --local out --key 'ORDER%231,META'

  # The sink products is now called catalog, or its letters are not needed any more
  tablewake redrive -c tablewake.yaml --local out --sink products --to catalog
  tablewake redrive -c tablewake.yaml --local out --sink products --discard

  # Give up for good on a change that no sink can take
  tablewake redrive -c tablewake.yaml --local out --sink on_completed --key 'ORDER%231,META' --class write --discard`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), s)
		},
	}
	o.Input.Add(c)
	f := c.Flags()
	o.Flags.Add(c, "the folder that a replay wrote")
	f.StringVar(&o.sink, "sink", "", "only letters of this sink")
	f.StringVar(&o.to, "to", "", "move the letters of --sink, which the file no longer has, to this sink")
	f.StringVar(&o.key, "key", "", "only letters of this item; its key as --list shows it")
	f.StringSliceVar(&o.classes, "class", nil, "only letters of these classes: "+classList)
	f.BoolVar(&o.list, "list", false, "show the letters, without delivering any")
	f.StringVar(&o.show, "show", "", "show the letter with this ID with all its data, without delivering any")
	f.BoolVar(&o.unmasked, "unmasked", false, "with --list or --show: do not mask sensitive attributes")
	f.BoolVar(&o.dryRun, "dry-run", false, "count the letters, without delivering any")
	f.BoolVar(&o.discard, "discard", false, "remove the letters without delivering them; needs --sink, --key or --class")
	f.BoolVar(&o.notify, "notify", false, "also publish notifications")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log to standard error what the pipeline does")
	cli.AddFormat(c, &o.format)
	return c
}

// classes are the usual classes of letters. A sink may have others.
var classes = []string{
	"undecodable", "filter", "detector", "plan", "write", "collision", "panic", "held", "quarantined",
}

// classList is the usual classes, for people.
var classList = yamlbind.Enumerate(classes, "or")

func (o *options) run(ctx context.Context, s cli.Streams) (err error) {
	cfg, err := o.Load()
	if err != nil {
		return err
	}
	if err := o.check(cfg); err != nil {
		return err
	}
	end, err := o.StartTelemetry(ctx, cfg, nil, s.Err, o.verbose)
	if err != nil {
		return err
	}
	defer end()
	o.ReadOnly = o.list || o.show != "" || o.dryRun
	opened, err := o.OpenExisting(ctx, cfg, s.Err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	store, err := letters.Open(ctx, cfg, opened)
	if err != nil {
		return err
	}
	if err := o.checkNames(ctx, cfg, store); err != nil {
		return err
	}
	if o.list || o.show != "" {
		return o.printSelected(ctx, cfg, store, s)
	}
	return o.deliver(ctx, cfg, opened, store, s)
}

// check returns a usage error if the flags contradict each other.
func (o *options) check(cfg *config.Config) error {
	actions := cli.CountTrue(o.list, o.show != "", o.dryRun, o.discard)
	isDryDiscard := actions == 2 && o.dryRun && o.discard
	_, hasSink := cfg.Sink(o.sink)
	_, hasTo := cfg.Sink(o.to)
	isUnknownSink := o.sink != "" && !hasSink
	switch {
	case actions > 1 && !isDryDiscard:
		return cli.Usagef("choose one of --list, --show, --dry-run and --discard")
	case o.unmasked && !o.list && o.show == "":
		return cli.Usagef("--unmasked goes with --list and --show")
	case o.discard && o.sink == "" && o.key == "" && len(o.classes) == 0:
		return cli.Usagef("--discard removes letters for good: say which, with --sink, --key or --class")
	case o.discard && o.sink != "" && slices.Contains(o.classes, record.ClassUndecodable):
		return cli.Usagef("--class %s: the letter of a record that could not be decoded is of every sink: leave out --sink",
			record.ClassUndecodable)
	case o.key != "" && !isKey(o.key):
		return cli.Usagef("--key %q is not the key of an item: copy it from --list, which escapes it", o.key)
	case o.to != "" && (o.list || o.show != "" || o.discard):
		return cli.Usagef("--to moves letters: leave out --list, --show and --discard")
	case o.to != "" && !isUnknownSink:
		return cli.Usagef("--to moves the letters of a sink that %s no longer has: name it with --sink", cfg.File)
	case o.to != "" && !hasTo:
		return cli.CheckNames("to", cfg.File+" has no such sink", cli.SinkNames(cfg), o.to)
	case o.to == "" && isUnknownSink && !o.discard && !o.list:
		return cli.Usagef("%w; --to SINK moves its letters to one that it has, --discard removes them, --list shows them",
			cli.CheckSinks(cfg, o.sink))
	}
	return o.Check()
}

// checkNames returns a usage error if --sink or --class names nothing: neither the file, the usual classes nor a letter
// has the name. With --to the sink may have no letters, because an interrupted redrive has moved them.
func (o *options) checkNames(ctx context.Context, cfg *config.Config, store deadletter.Store) (err error) {
	sinkNames, classNames := cli.SinkNames(cfg), slices.Clone(classes)
	if o.checkNamesIn(cfg, sinkNames, classNames) == nil {
		return nil // the names are found without the letters
	}
	defer func() { err = errors.Join(err, deadletter.Release(ctx, store)) }()
	for l, err := range letters.Read(ctx, cfg, store) {
		if err != nil {
			return err
		}
		sinkNames, classNames = appendNew(sinkNames, l.Sink), appendNew(classNames, l.Class)
	}
	return o.checkNamesIn(cfg, sinkNames, classNames)
}

// checkNamesIn is checkNames for the names that were found.
func (o *options) checkNamesIn(cfg *config.Config, sinkNames, classNames []string) error {
	if err := cli.CheckNames("class", "no dead letter has this class", classNames, o.classes...); err != nil {
		return err
	}
	if o.sink == "" || o.to != "" {
		return nil
	}
	return cli.CheckNames("sink", cfg.File+" has no such sink, and no letter is of it", sinkNames, o.sink)
}

// appendNew appends a name, unless names has it or it is empty.
func appendNew(names []string, name string) []string {
	if name == "" || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// isKey reports whether a text can be the key of an item.
func isKey(text string) bool {
	_, _, err := item.Key(text).Decode()
	return err == nil
}

// redriveOptions returns the options to redrive all letters of a pipeline. It takes the decoder of in, which obeys
// --stream-arn.
func redriveOptions(
	ctx context.Context, in *records.Input, cfg *config.Config, opened sinks.Stores, store deadletter.Store,
	p *pipeline.Pipeline,
) (redrive.Options, error) {
	o, err := letters.RedriveOptions(ctx, cfg, opened, store, p)
	o.Decoder = in.Decoder(cfg)
	return o, err
}

// announceRemoved prints how many letters will be moved or discarded. Their sink is not in the file any more.
func (o *options) announceRemoved(ctx context.Context, cfg *config.Config, ro redrive.Options, s cli.Streams) error {
	ro.DryRun = true
	report, err := redrive.Run(ctx, ro)
	if err != nil {
		return err
	}
	n := report.Sinks[o.sink].Letters
	action := cli.Choose(o.to == "", "to be discarded", "to be moved to "+o.to)
	fmt.Fprintf(s.Err, "%s of the sink %s, which %s no longer has, %s %s\n", cli.Count(n, "letter"), o.sink, cfg.File,
		cli.Choose(n == 1, "is", "are"), action)
	return nil
}

// deliver redrives the selected letters, and prints the report.
func (o *options) deliver(
	ctx context.Context, cfg *config.Config, opened sinks.Stores, store deadletter.Store, s cli.Streams,
) error {
	bar := cli.NewCountProgress(s.Err, "redriving")
	p, err := o.assemble(ctx, cfg, opened, s, bar)
	if err != nil {
		return err
	}
	ro, err := redriveOptions(ctx, &o.Input, cfg, opened, store, p)
	if err != nil {
		return err
	}
	ro.Sink, ro.To, ro.Key, ro.Classes = o.sink, o.to, item.Key(o.key), o.classes
	ro.DryRun, ro.Discard = o.dryRun, o.discard
	if _, hasSink := cfg.Sink(o.sink); o.sink != "" && !hasSink {
		if err := o.announceRemoved(ctx, cfg, ro, s); err != nil {
			return err
		}
	}
	ro.Progress = func(r redrive.Report) {
		total := 0
		for _, sink := range r.Sinks {
			total += sink.Letters
		}
		bar.Update(int64(r.Delivered()), int64(total))
	}
	report, runErr := redrive.Run(ctx, ro)
	bar.End()
	if runErr == nil || !report.Empty() { // an error with an empty report: "no dead letters" may be untrue
		if err := o.printReport(s, report); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return cli.WithExitCode(cli.ExitInterrupted, errors.New("interrupted before the end; the same command continues"))
	case runErr != nil:
		return runErr
	case !o.dryRun && report.Left() > 0:
		return cli.WithExitCode(cli.ExitDeadLetters, nil)
	}
	return nil
}

// assemble makes the pipeline that delivers the letters. It logs to log.
func (o *options) assemble(
	ctx context.Context, cfg *config.Config, stores sinks.Stores, s cli.Streams, log io.Writer,
) (*pipeline.Pipeline, error) {
	opts := []sinks.Option{sinks.WithExtensions(s.Extensions...), sinks.Redrive()}
	if len(s.Extensions) == 0 {
		opts = append(opts, s.HoldCustom(cfg, "redrive")) // the letters of Go sinks stay
	}
	if !o.notify {
		opts = append(opts, sinks.SuppressEvents("redrive"))
	}
	if o.dryRun {
		stores = sinks.PlanOnly() // the real stores would record that the sinks have started
	}
	return o.Assemble(ctx, cfg, stores, cli.NewWarnLogger(log, o.verbose), opts...)
}
