package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/telemetry"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/sinks/local"
)

// Flags are the flags --local, --live and --create, which select the stores of a command.
type Flags struct {
	Local  string
	Live   bool
	Create bool // create missing tables, indexes and buckets

	ReadOnly  bool                 // open stores to read them, and change nothing. The command sets it
	Scrape    sdkmetric.Reader     // see [telemetry.Options.Scrape]. The command sets it
	Telemetry *telemetry.Telemetry // traces calls to real stores; nil: no traces. StartTelemetry sets it
}

// Add adds --local and --live to c. localHelp is the help text of --local.
func (f *Flags) Add(c *cobra.Command, localHelp string) {
	f.add(c.Flags(), localHelp)
	_ = c.MarkFlagDirname("local")
}

// AddPersistent is [Flags.Add] for c and its subcommands.
func (f *Flags) AddPersistent(c *cobra.Command, localHelp string) {
	f.add(c.PersistentFlags(), localHelp)
	_ = c.MarkPersistentFlagDirname("local")
}

func (f *Flags) add(set interface {
	StringVar(p *string, name, value, usage string)
	BoolVar(p *bool, name string, value bool, usage string)
}, localHelp string) {
	set.StringVar(&f.Local, "local", "", localHelp)
	set.BoolVar(&f.Live, "live", false,
		"use the configured real stores, with the AWS credentials of this shell")
}

// AddCreate adds --create.
func (f *Flags) AddCreate(c *cobra.Command) {
	c.Flags().BoolVar(&f.Create, "create", false,
		"with --live: create missing tables, buckets, queues, topics, buses and indexes")
}

// Check returns a usage error unless exactly one of --local and --live is set.
func (f *Flags) Check() error {
	switch {
	case f.Local != "" && f.Live:
		return cli.Usagef("--local and --live cannot be combined: embedded stores in a folder, or the real ones")
	case f.Local == "" && !f.Live:
		return cli.Usagef(
			"say which stores: --local DIR for embedded ones in a folder, --live for the real ones that the configuration names")
	case f.Create && !f.Live:
		return cli.Usagef("--create needs --live: a --local folder is created without it")
	}
	return nil
}

// LoadConfig reads a configuration file and checks the flags.
func (f *Flags) LoadConfig(file string) (*config.Config, error) {
	cfg, err := cli.LoadConfig(file)
	if err != nil {
		return nil, err
	}
	return cfg, f.Check()
}

// CommandLine returns -c FILE and either --live or --local DIR, with the values of this command line. Messages add them
// to the commands that they suggest.
func (f *Flags) CommandLine(cfg *config.Config) string {
	return "-c " + cfg.File + " " + cli.Choose(f.Live, "--live", "--local "+f.Local)
}

// LambdaReads reports whether Lambda functions read the stream: the stores are real, and the file has no leases.
func (f *Flags) LambdaReads(cfg *config.Config) bool { return f.Live && cfg.Leases == nil }

// BackfillSource returns the flags that name a source of a backfill, for the commands that messages suggest. The source
// is a scan if there is only one real table, otherwise an archive. Without leases a Lambda function reads the stream,
// so the flags also name the function.
func (f *Flags) BackfillSource(cfg *config.Config) string {
	source := "--archive PATH"
	if f.Live && len(cfg.Source.Tables) <= 1 {
		source = "--scan"
	}
	if f.LambdaReads(cfg) {
		source += " --function NAME --lag TIME"
	}
	return source
}

// AuditRepairCommand returns the command that repairs the sinks that may miss changes, although no record was lost.
// flags is the result of [Flags.CommandLine]. A folder can be compared with the records that it was made from.
func AuditRepairCommand(flags string) string {
	isFolder := strings.Contains(flags, " --local ")
	return "tablewake gaps " + flags + " --repair --audit" + cli.Choose(isFolder, " RECORDS...", "")
}

// BackfillCommand returns the command that fills a sink. flags is the result of [Flags.CommandLine], and source is the
// result of [Flags.BackfillSource].
func BackfillCommand(flags, sink, source string) string {
	return "tablewake backfill " + flags + " --sink " + sink + " " + source
}

// Stores are the open stores of a pipeline.
type Stores struct {
	sinks.Stores
	Closers
}

// Closers are the Close functions of open resources, in the order in which they were opened.
type Closers []func() error

// OnClose adds a function that [Closers.Close] calls.
func (c *Closers) OnClose(fn func() error) { *c = append(*c, fn) }

// Close calls all functions in reverse order. A second Close does nothing.
func (c *Closers) Close() error {
	var errs []error
	for _, fn := range slices.Backward(*c) {
		errs = append(errs, fn())
	}
	*c = nil
	return errors.Join(errs...)
}

// Open opens the stores. With --live it first prints the names of the stores to w. With --local it claims the folder
// for the pipeline of cfg. If fresh is set, it empties the folder first.
func (f *Flags) Open(ctx context.Context, cfg *config.Config, w io.Writer, fresh bool) (*Stores, error) {
	if f.Live {
		return openLive(ctx, cfg, w, f.Telemetry, f.Options(w)...)
	}
	return f.OpenLocal(cfg, w, fresh)
}

// OpenLocal makes cfg the owner of the --local folder, and opens the stores in the folder. If fresh is set, it empties
// the folder first. With ReadOnly it changes nothing in the folder, which must have cfg as its owner. Warnings about
// files of the folder go to w.
func (f *Flags) OpenLocal(cfg *config.Config, w io.Writer, fresh bool) (*Stores, error) {
	opts := []local.Option{local.WithLogger(cli.NewWarnLogger(w, false))}
	if f.ReadOnly {
		opts = append(opts, local.LookOnly())
	}
	opened, err := local.Open(f.Local, opts...)
	if err != nil {
		return nil, err
	}
	if err := f.claimFolder(cfg, fresh); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return &Stores{opened, Closers{opened.Close}}, nil
}

// claimFolder makes cfg the owner of the --local folder, and notes its sensitive attributes. With ReadOnly it only
// checks the owner.
func (f *Flags) claimFolder(cfg *config.Config, fresh bool) error {
	if f.ReadOnly {
		return checkOwner(f.Local, cfg)
	}
	if err := claimLocal(f.Local, cfg, fresh); err != nil {
		return err
	}
	return addSensitive(f.Local, cfg)
}

// Options returns the options to open real stores. The stores print warnings to w.
func (f *Flags) Options(w io.Writer) []aws.Option {
	opts := []aws.Option{aws.WithLogger(cli.NewWarnLogger(w, false))}
	if f.Create {
		opts = append(opts, aws.Create())
	}
	if f.ReadOnly {
		opts = append(opts, aws.LookOnly())
	}
	return opts
}

// OpenExisting is [Flags.Open] for a command that works on the output of earlier runs. It returns the error of
// [Flags.CheckFolder].
func (f *Flags) OpenExisting(ctx context.Context, cfg *config.Config, w io.Writer) (*Stores, error) {
	if err := f.CheckFolder(cfg); err != nil {
		return nil, err
	}
	return f.Open(ctx, cfg, w, false)
}

// CheckFolder returns an error unless the --local folder exists and belongs to the pipeline of cfg. A command that
// reads files of the folder without opening its stores calls it first.
func (f *Flags) CheckFolder(cfg *config.Config) error {
	if f.Live {
		return nil
	}
	return checkOwner(f.Local, cfg)
}

// Assemble builds the pipeline of cfg with opened as its stores. The caller must call [Flags.StartTelemetry] before.
func (f *Flags) Assemble(
	ctx context.Context, cfg *config.Config, opened sinks.Stores, log *slog.Logger, opts ...sinks.Option,
) (*pipeline.Pipeline, error) {
	return sinks.Assemble(ctx, cfg, opened, append(opts, sinks.WithLogger(log), sinks.WithCommands(f.CommandLine(cfg)),
		sinks.WithTelemetry(f.Telemetry.Tracer, f.Telemetry.Meter))...)
}

// Hint returns err, an error of [Flags.Assemble]. If --fresh can help, the returned error also says so.
func (f *Flags) Hint(err error) error {
	_, isChanged := errors.AsType[*sinks.ChangedError](err)
	freshHelps := isChanged || errors.Is(err, sinks.ErrNotEmpty)
	if f.Live || !freshHelps {
		return err
	}
	return fmt.Errorf("%w (--fresh empties %s first)", err, f.Local)
}
