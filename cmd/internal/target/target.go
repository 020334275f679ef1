package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/telemetry"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/sinks/local"
)

// Flags are the flags that say which stores a command works on: embedded ones in a
// folder, or the real ones that the configuration names.
type Flags struct {
	Local  string
	Live   bool
	Create bool // make tables, indexes and buckets that are missing

	LookOnly  bool                 // nothing is made that a run would make
	Telemetry *telemetry.Telemetry // of calls to real stores; nil where nobody watches
}

// Add adds --local, with what a command does in the folder, and --live.
func (t *Flags) Add(c *cobra.Command, folder string) {
	t.add(c.Flags(), folder)
	_ = c.MarkFlagDirname("local")
}

// AddBelow adds them for the commands below one.
func (t *Flags) AddBelow(c *cobra.Command, folder string) {
	t.add(c.PersistentFlags(), folder)
	_ = c.MarkPersistentFlagDirname("local")
}

func (t *Flags) add(f interface {
	StringVar(p *string, name, value, usage string)
	BoolVar(p *bool, name string, value bool, usage string)
}, folder string) {
	f.StringVar(&t.Local, "local", "", folder)
	f.BoolVar(&t.Live, "live", false, "use the real stores that the configuration names, with the AWS credentials of this shell")
}

// AddCreate adds --create.
func (t *Flags) AddCreate(c *cobra.Command) {
	c.Flags().BoolVar(&t.Create, "create", false, "with --live: make the tables, buckets and indexes that are missing")
}

// Check is a usage error where not exactly one of the two is asked for.
func (t *Flags) Check() error {
	switch {
	case t.Local != "" && t.Live:
		return cli.Usagef("--local and --live cannot stand together: embedded stores in a folder, or the real ones")
	case t.Local == "" && !t.Live:
		return cli.Usagef("say which stores: --local DIR for embedded ones in a folder, --live for the real ones that the configuration names")
	case t.Create && !t.Live:
		return cli.Usagef("--create is of --live: a --local folder is made by itself")
	}
	return nil
}

// Load reads a configuration, and checks the flags.
func (t *Flags) Load(file string) (*config.Config, error) {
	cfg, err := cli.LoadConfig(file)
	if err != nil {
		return nil, err
	}
	return cfg, t.Check()
}

// CommandLine names the configuration and the target again, for a command line that is shown.
func (t *Flags) CommandLine(cfg *config.Config) string {
	return "-c " + cfg.File + " " + cli.Either(t.Live, "--live", "--local "+t.Local)
}

// Stores are open stores of a pipeline.
type Stores struct {
	sinks.Stores
	Closers
}

// Closers close what is open, in the order in which it was opened.
type Closers []func() error

// Closes adds what is to be closed.
func (c *Closers) Closes(one func() error) { *c = append(*c, one) }

// Close closes all, the last first.
func (c *Closers) Close() error {
	var errs []error
	for _, one := range slices.Backward(*c) {
		errs = append(errs, one())
	}
	*c = nil
	return errors.Join(errs...)
}

// Open opens the stores. Of real ones it first says on w which they are; a folder is
// claimed for cfg, and emptied first where fresh says so.
func (t *Flags) Open(ctx context.Context, cfg *config.Config, w io.Writer, fresh bool) (*Stores, error) {
	if t.Live {
		return openLive(ctx, cfg, w, t.Telemetry, t.Options(w)...)
	}
	return t.OpenLocal(cfg, w, fresh)
}

// OpenLocal claims the folder for cfg, and opens the stores in it; what is wrong with its
// files is logged on w.
func (t *Flags) OpenLocal(cfg *config.Config, w io.Writer, fresh bool) (*Stores, error) {
	opened, err := local.Open(t.Local, local.WithLogger(cli.Logger(w, false)))
	if err != nil {
		return nil, err
	}
	err = claimLocal(t.Local, cfg, fresh)
	if err == nil {
		err = rememberSensitive(t.Local, cfg)
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return &Stores{opened, Closers{opened.Close}}, nil
}

// Options are what is asked of real stores; what is wrong with files of theirs is logged on w.
func (t *Flags) Options(w io.Writer) []aws.Option {
	opts := []aws.Option{aws.WithLogger(cli.Logger(w, false))}
	if t.Create {
		opts = append(opts, aws.Create())
	}
	if t.LookOnly {
		opts = append(opts, aws.LookOnly())
	}
	return opts
}

// OpenWritten opens the stores that a run wrote to: a folder must be there.
func (t *Flags) OpenWritten(ctx context.Context, cfg *config.Config, w io.Writer) (*Stores, error) {
	if !t.Live {
		if err := WroteLocal(t.Local); err != nil {
			return nil, err
		}
	}
	return t.Open(ctx, cfg, w, false)
}

// Assemble makes the pipeline of cfg over open stores.
func (t *Flags) Assemble(ctx context.Context, cfg *config.Config, opened sinks.Stores, log *slog.Logger, opts ...sinks.Option) (*pipeline.Pipeline, error) {
	return sinks.Assemble(ctx, cfg, opened, append(opts, sinks.WithLogger(log), sinks.WithCommands(t.CommandLine(cfg)),
		sinks.WithTelemetry(t.Telemetry.Tracer, t.Telemetry.Meter))...)
}

// Hint adds to an error of Assemble what this target can do about it.
func (t *Flags) Hint(err error) error {
	if _, changed := errors.AsType[*sinks.ChangedError](err); t.Live || !changed && !errors.Is(err, sinks.ErrNotEmpty) {
		return err
	}
	return fmt.Errorf("%w (--fresh empties %s first)", err, t.Local)
}
