package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/telemetry"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/sinks/local"
)

// target are the flags that say which stores a command works on: embedded ones in a
// folder, or the real ones that the configuration names.
type target struct {
	local  string
	live   bool
	create bool // make tables, indexes and buckets that are missing

	lookOnly  bool                 // nothing is made that a run would make
	telemetry *telemetry.Telemetry // of calls to real stores; nil where nobody watches
}

func (t *target) add(c *cobra.Command, folder string) {
	f := c.Flags()
	f.StringVar(&t.local, "local", "", folder)
	f.BoolVar(&t.live, "live", false, "use the real stores that the configuration names, with the AWS credentials of this shell")
	_ = c.MarkFlagDirname("local")
}

func (t *target) addCreate(c *cobra.Command) {
	c.Flags().BoolVar(&t.create, "create", false, "with --live: make the tables, buckets and indexes that are missing")
}

// check is a usage error where not exactly one of the two is asked for.
func (t *target) check() error {
	switch {
	case t.local != "" && t.live:
		return cli.Usagef("--local and --live cannot stand together: embedded stores in a folder, or the real ones")
	case t.local == "" && !t.live:
		return cli.Usagef("say which stores: --local DIR for embedded ones in a folder, --live for the real ones that the configuration names")
	case t.create && !t.live:
		return cli.Usagef("--create is of --live: a --local folder is made by itself")
	}
	return nil
}

// flags are those that name the target again, for a command line that is shown.
func (t *target) flags() string {
	if t.live {
		return "--live"
	}
	return "--local " + t.local
}

// stores are open stores of a pipeline.
type stores struct {
	sinks.Stores
	close []func() error // what is to be closed, in the order in which it was opened
}

// Close closes the stores, and lets a folder go.
func (s *stores) Close() error {
	var errs []error
	for i := len(s.close) - 1; i >= 0; i-- {
		errs = append(errs, s.close[i]())
	}
	s.close = nil
	return errors.Join(errs...)
}

// open opens the stores. Of real ones it first says on w which they are; a folder is
// claimed for cfg, and emptied first where fresh says so.
func (t *target) open(ctx context.Context, cfg *config.Config, w io.Writer, fresh bool) (*stores, error) {
	if t.live {
		return openLive(ctx, cfg, w, t.telemetry, t.options(w)...)
	}
	return t.openLocal(cfg, w, fresh)
}

// openLocal claims the folder for cfg, and opens the stores in it; what is wrong with its
// files is logged on w.
func (t *target) openLocal(cfg *config.Config, w io.Writer, fresh bool) (*stores, error) {
	opened, err := local.Open(t.local, local.WithLogger(cli.Logger(w, false)))
	if err != nil {
		return nil, err
	}
	err = claimLocal(t.local, cfg, fresh)
	if err == nil {
		err = rememberSensitive(t.local, cfg)
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return &stores{Stores: opened, close: []func() error{opened.Close}}, nil
}

// options are what is asked of real stores; what is wrong with files of theirs is logged on w.
func (t *target) options(w io.Writer) []aws.Option {
	opts := []aws.Option{aws.WithLogger(cli.Logger(w, false))}
	if t.create {
		opts = append(opts, aws.Create())
	}
	if t.lookOnly {
		opts = append(opts, aws.LookOnly())
	}
	return opts
}

// openWritten opens the stores that a run wrote to: a folder must be there.
func (t *target) openWritten(ctx context.Context, cfg *config.Config, w io.Writer) (*stores, error) {
	if !t.live {
		if err := wroteLocal(t.local); err != nil {
			return nil, err
		}
	}
	return t.open(ctx, cfg, w, false)
}

// hint adds to an error of assembly what this target can do about it.
func (t *target) hint(err error, changed bool) error {
	if err == nil || !changed || t.live {
		return err
	}
	return fmt.Errorf("%w (--fresh empties %s first)", err, t.local)
}

// wroteLocal is an error where dir is no folder that a replay wrote.
func wroteLocal(dir string) error {
	_, err := os.Stat(filepath.Join(dir, ownerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is no folder that a replay wrote: run `tablewake replay -c FILE --local %s PATH` first", dir, dir)
	}
	return err
}
