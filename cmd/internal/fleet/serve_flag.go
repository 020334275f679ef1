package fleet

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// serveDefault is the address of --serve without a value. A consumer on the same machine uses port 8080.
const serveDefault = "127.0.0.1:8081"

// PageRequest describes the page that --serve serves until ctx is done.
type PageRequest struct {
	Addr       string
	Everywhere bool                                   // serve also on an address other than loopback
	ReadReport func(context.Context) (*Report, error) // reads all stores; not called concurrently
	Pipeline   string
	Flags      string    // flags of every command of this pipeline
	Log        io.Writer // receives the address
}

// ServePage serves a page, and returns nil once ctx is done. It is a parameter of NewStatus, because package page
// imports this package.
type ServePage func(ctx context.Context, p PageRequest) error

// parseArgument takes an argument as the value of --watch or --serve, as in --watch 10s. A flag with an optional value
// takes only --watch=10s by itself.
func (o *statusOptions) parseArgument(c *cobra.Command, args []string) error {
	hasWatch, hasServe := c.Flags().Changed("watch"), c.Flags().Changed("serve")
	switch {
	case hasWatch && hasServe:
		return cli.Usagef("--watch prints and --serve serves: give one of them")
	case len(args) == 1 && hasWatch:
		if err := o.watch.Set(args[0]); err != nil {
			return cli.Usagef("--watch: %w", err)
		}
		return nil
	case len(args) == 1 && hasServe:
		o.serve = args[0]
		return nil
	}
	return cli.NoArguments(c, args)
}

// servePage serves the page until ctx is done. It reads the stores only while the page is open.
func (o *statusOptions) servePage(ctx context.Context, s cli.Streams, serve ServePage) error {
	cfg, err := o.load()
	if err != nil {
		return err
	}
	storeNames := s.Err
	return serve(ctx, PageRequest{
		Addr: o.serve, Everywhere: o.page, Pipeline: cfg.Name, Flags: o.CommandLine(cfg), Log: s.Err,
		ReadReport: func(ctx context.Context) (*Report, error) {
			r, err := o.readReport(ctx, storeNames)
			storeNames = io.Discard // they are printed once
			return &r, err
		},
	})
}
