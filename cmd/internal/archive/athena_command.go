package archive

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/athena"
)

// athenaOptions are the flags of athena.
type athenaOptions struct {
	config   string
	sink     string
	database string
	location string
	from     string
	format   cli.Format
}

// NewAthena is the command athena.
func NewAthena(s cli.Streams) *cobra.Command {
	var o athenaOptions
	c := &cobra.Command{
		Use:   "athena -c FILE",
		Short: "Print the SQL that makes an archive a table of Athena",
		Long: `athena prints the DDL of an Athena table for each archive of a configuration, and of two views
over it. One view has each version of an item once. The other has the latest version of each item.
The partitions of the table are computed from the template of the folders, so you need not
register them. athena makes no connections. Athena runs one statement at a time.`,
		Example: `  tablewake athena -c tablewake.yaml --sink history --database lake
  tablewake athena -c tablewake.yaml --sink history --location s3://copy/changes/`,
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error { return o.printStatements(s.Out) },
	}
	cli.AddConfig(c, &o.config)
	f := c.Flags()
	f.StringVar(&o.sink, "sink", "", "only this archive (default all)")
	f.StringVar(&o.database, "database", "",
		"database of the table and the views (default the one that the query runs in)")
	f.StringVar(&o.location, "location", "",
		"location of the objects, with the prefix: s3://BUCKET/PREFIX (default as configured)")
	f.StringVar(&o.from, "from", "2020-01-01", "first day whose folders are read")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *athenaOptions) printStatements(out io.Writer) error {
	from, err := time.Parse(time.DateOnly, o.from)
	if err != nil {
		return cli.Usagef("--from %q is not a day: write it as 2026-01-31", o.from)
	}
	cfg, err := cli.LoadConfig(o.config)
	if err != nil {
		return err
	}
	statements, err := o.statements(cfg, from)
	if err != nil {
		return err
	}
	for i, statement := range statements {
		if i > 0 && o.format != cli.FormatJSON {
			fmt.Fprintln(out)
		}
		write := func(w io.Writer) { printStatement(w, statement) }
		if err := cli.Print(out, o.format, statement, write); err != nil {
			return err
		}
	}
	return nil
}

// statements returns the statements of the selected archives, whose folders are read from a day on.
func (o *athenaOptions) statements(cfg *config.Config, from time.Time) (all []athena.Statement, err error) {
	archives, err := o.selectArchives(cfg)
	if err != nil {
		return nil, err
	}
	for _, s := range archives {
		description, err := o.describe(cfg, s)
		if err != nil {
			return nil, err
		}
		description.From = from
		statements, err := athena.Statements(description)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: sinks.%s: %w", cfg.File, s.Line, s.Name, err)
		}
		all = append(all, statements...)
	}
	return all, nil
}

func printStatement(w io.Writer, s athena.Statement) {
	for _, note := range s.Notes {
		fmt.Fprintln(w, "--", note)
	}
	fmt.Fprintln(w, s.SQL+";")
}

// selectArchives returns the archives that the flags select.
func (o *athenaOptions) selectArchives(cfg *config.Config) (selected []config.Sink, err error) {
	var names []string // of all archives
	for _, s := range cfg.Sinks {
		if s.Archive == nil {
			continue
		}
		names = append(names, s.Name)
		if o.sink == "" || o.sink == s.Name {
			selected = append(selected, s)
		}
	}
	switch {
	case len(names) == 0:
		return nil, cli.Usagef("%s has no archive", cfg.File)
	case len(selected) == 0:
		return nil, cli.CheckNames("sink", cfg.File+" has no such archive", names, o.sink)
	case o.location != "" && len(selected) > 1:
		return nil, cli.Usagef("--location belongs to one archive: name it with --sink: %s", strings.Join(names, ", "))
	}
	return selected, nil
}

// describe describes an archive of the configuration to Athena.
func (o *athenaOptions) describe(cfg *config.Config, s config.Sink) (athena.Archive, error) {
	c := s.Archive
	a := athena.Archive{
		Sink:         s.Name,
		Database:     o.database,
		Location:     o.location,
		Options:      sinks.ArchiveOptions(s),
		Filtered:     len(s.FiltersInOrder()) > 0 || len(cfg.Filters) > 0,
		StorageClass: c.StorageClass,
	}
	hasPlainImages := a.Format == archive.Parquet || a.Images == archive.PlainJSON
	if cfg.Source.Kinesis != "" && !hasPlainImages {
		return a, fmt.Errorf(
			"%s:%d: sinks.%s: its lines are records of Kinesis, which hold a change in base64: Athena reads none of it. Set archive.format: parquet, or archive.images: plain_json, for an archive of another name", cfg.File, s.Line, s.Name)
	}
	if o.location == "" && c.Bucket == "" {
		return a, cli.Usagef("%s:%d: sinks.%s names no bucket: say where its objects are with --location", cfg.File, s.Line,
			s.Name)
	}
	if o.location == "" {
		a.Location = "s3://" + c.Bucket + "/" + c.Prefix
	}
	for _, t := range cfg.Source.Tables {
		a.Tables = append(a.Tables, t.Name)
	}
	mask, err := sinks.Mask(cfg)
	a.Mask = mask.Except(s.AllowSensitive)
	return a, err
}
