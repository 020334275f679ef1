package generate

import (
	"fmt"
	"go/token"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// New is the command generate.
func New(s cli.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "generate",
		Short: "Write source code from a configuration",
		Long:  `generate writes source code that follows from a configuration.`,
		Args:  cli.NoArguments,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newGo(s))
	return c
}

// options are the flags of generate go.
type options struct {
	config, pkg, out string
}

func newGo(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "go -c FILE",
		Short: "Write a Go struct for each entity",
		Long: `generate go writes a Go struct for each entity of the configuration. It has a field for each name
that the key binds, and for each attribute that the entity declares. sinks.On fills all fields,
and unmarshal.Decode those of attributes. Numbers are decimal.Decimal, which holds all 38 digits.
An attribute that the item does not have leaves its field zero. It connects to nothing.`,
		Example: `  tablewake generate go -c tablewake.yaml
  tablewake generate go -c tablewake.yaml --package shop --out internal/shop/entities.go
  //go:generate tablewake generate go -c ../../tablewake.yaml --package shop --out entities.go`,
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error { return o.run(s) },
	}
	cli.AddConfig(c, &o.config)
	f := c.Flags()
	f.StringVar(&o.pkg, "package", "main", "name of the Go package")
	f.StringVar(&o.out, "out", "", "file to write (default: standard output)")
	return c
}

func (o *options) run(s cli.Streams) error {
	if !token.IsIdentifier(o.pkg) || o.pkg == "_" {
		return cli.Usagef("--package %q is not a name of a Go package", o.pkg)
	}
	cfg, err := cli.LoadConfig(o.config)
	if err != nil {
		return err
	}
	if cfg.EntitySet() == nil {
		return cli.Usagef("%s has no entities: add entities: {NAME: {key: {PK: 'PATTERN'}}}", cfg.File)
	}
	source, err := Source(cfg, o.pkg)
	if err != nil {
		return err
	}
	if o.out == "" {
		_, err = s.Out.Write(source)
		return err
	}
	if err := os.WriteFile(o.out, source, 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Err, "wrote %s\n", filepath.ToSlash(o.out))
	return err
}
