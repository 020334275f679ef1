package validate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/sample"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
)

// options are the flags of validate.
type options struct {
	config string
	schema bool
	from   sampleFlags
	live   bool
	format cli.Format
}

// New returns the command validate.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "validate -c FILE",
		Short: "Check a configuration, and print its JSON Schema",
		Long: `validate checks a whole configuration: grammar, templates, expressions, and rules that would lose
deletes or mix items. It prints every error with its line, and warnings. It also requires what a
run with --local does not need, such as a state table.

--sample and --table compare the attribute names of the file with items. A name that no item has is
a warning. So is an entity that has no items. --sample reads records, an export, lines with an item
each in DynamoDB JSON, or the output of ` + "`aws dynamodb scan`" + `. --table reads up to 1,024 items of the
table, and writes nothing.

--live compares the file with the account of the shell's credentials, and writes nothing. It checks
the key, the stream and the TTL of the table; the tables, indexes, buckets, queues, topics and buses
of sinks, state, leases and dead letters; and, by simulation, whether the caller has the rights of
` + "`template -o policies`" + `. It prints each problem with the command that solves it, and lists what it
could not check, with the reason.`,
		Example: `  tablewake validate -c tablewake.yaml
  tablewake validate -c tablewake.yaml --sample stream.jsonl
  tablewake validate -c tablewake.yaml --table shop
  tablewake validate -c tablewake.yaml --live
  tablewake validate --schema > tablewake.schema.json`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.schema {
				_, err := s.Out.Write(config.Schema())
				return err
			}
			return o.run(c.Context(), s)
		},
	}
	cli.AddConfig(c, &o.config)
	c.Flags().BoolVar(&o.schema, "schema", false, "print the JSON Schema of the file, and nothing else")
	c.Flags().StringArrayVar(&o.from.files, "sample", nil,
		"check names of attributes against the items of this file or folder")
	c.Flags().StringVar(&o.from.table, "table", "",
		"check names of attributes against some items of this table, by name or ARN")
	c.Flags().BoolVar(&o.live, "live", false, "compare the file with the account: resources and rights")
	c.MarkFlagsMutuallyExclusive("sample", "table")
	cli.AddFormat(c, &o.format)
	return c
}

// sampleFlags are the flags --sample and --table. They choose the items that names of attributes are checked against.
type sampleFlags struct {
	files []string
	table string
}

// isGiven reports whether one of the flags is given.
func (f sampleFlags) isGiven() bool { return f.table != "" || len(f.files) > 0 }

// read reads the items; it returns nil if neither flag is given.
func (f sampleFlags) read(ctx context.Context, s cli.Streams) (*sample.Sample, error) {
	switch {
	case f.table != "":
		return sample.Scan(ctx, s, f.table)
	case len(f.files) > 0:
		return sample.Read(ctx, s, f.files)
	}
	return nil, nil
}

// validation is the output of `validate -o json`.
type validation struct {
	Valid    bool            `json:"valid"`
	Errors   config.Problems `json:"errors"`
	Warnings config.Problems `json:"warnings"`
	Sampled  int             `json:"sampled_items,omitempty"` // number of items against which names were checked
	Live     *liveReport     `json:"live,omitempty"`          // the result of --live; nil without it

	noun string // "item" or "record": what Sampled counts
}

// load loads a configuration, and checks its Go code. If it is invalid, load returns the problems, and cfg may be nil.
func load(s cli.Streams, file string) (cfg *config.Config, problems config.Problems, err error) {
	cfg, err = cli.LoadConfig(file)
	if problems, isInvalid := errors.AsType[config.Problems](err); isInvalid {
		return cfg, problems, nil
	}
	if err != nil {
		return nil, nil, err
	}
	s.PrintMissingCode(cfg, "checked")
	problems = slices.Concat(cfg.LocalOnly, sinks.CheckExtensions(cfg, s.Extensions...))
	problems.Sort()
	return cfg, problems, nil
}

// run checks a configuration and prints the result.
func (o *options) run(ctx context.Context, s cli.Streams) error {
	cfg, problems, err := load(s, o.config)
	if err != nil {
		return err
	}
	v := validation{Errors: append(config.Problems{}, problems...), Warnings: config.Problems{}}
	if cfg != nil {
		if err := v.addWarnings(ctx, s, cfg, o.from); err != nil {
			return err
		}
	}
	if isFileValid := len(problems) == 0; o.live && isFileValid {
		live, accountProblems, err := checkAccount(ctx, s, cfg)
		if err != nil {
			return err
		}
		v.Live, v.Errors = live, append(v.Errors, accountProblems...)
	}
	v.Valid = len(v.Errors) == 0
	if o.format == cli.FormatJSON {
		return v.writeJSON(s.Out)
	}
	return v.writeText(s, cfg, o)
}

// writeJSON prints the validation. It returns an error with the exit code if the configuration is not valid.
func (v *validation) writeJSON(w io.Writer) error {
	if err := cli.WriteJSON(w, v); err != nil || v.Valid {
		return err
	}
	return cli.WithExitCode(cli.ExitConfig, nil)
}

// writeText prints the validation for people. It returns the problems as an error. cfg is nil if the file has problems
// of its own.
func (v *validation) writeText(s cli.Streams, cfg *config.Config, o *options) error {
	for _, w := range v.Warnings {
		fmt.Fprintf(s.Err, "%s%v\n", cli.Warning, w)
	}
	if v.Live != nil {
		v.Live.write(s.Out)
	}
	if cfg == nil && o.from.isGiven() {
		fmt.Fprintln(s.Err, "no item was read: correct the file first")
	}
	if o.live && v.Live == nil {
		fmt.Fprintln(s.Err, "the file was not compared with the account: correct it first")
	}
	if !v.Valid {
		return cli.WithExitCode(cli.ExitConfig, v.Errors)
	}
	v.writeSummary(s.Out, cfg)
	return nil
}

// addWarnings adds the warnings of cfg. If from has a flag, it also adds the warnings from checking names against
// items.
func (v *validation) addWarnings(ctx context.Context, s cli.Streams, cfg *config.Config, from sampleFlags) error {
	v.Warnings = append(v.Warnings, cfg.Warnings...)
	items, err := from.read(ctx, s)
	if err != nil || items == nil {
		return err
	}
	v.Sampled, v.noun = len(items.Items), items.Noun
	v.Warnings = append(v.Warnings, cfg.CheckSample(items.Items)...)
	v.Warnings.Sort()
	return nil
}

// writeSummary prints that the configuration is valid, with the numbers of its sinks, detectors and filters.
func (v *validation) writeSummary(w io.Writer, cfg *config.Config) {
	filters := len(cfg.Filters)
	for _, sink := range cfg.Sinks {
		filters += len(sink.Filters)
	}
	fmt.Fprintf(w, "%s is valid: pipeline %s, %s, %s, %s\n",
		cfg.File, cfg.Name, cli.Count(len(cfg.Sinks), "sink"), cli.Count(len(cfg.Detectors), "detector"),
		cli.Count(filters, "filter"))
	if v.Sampled > 0 {
		fmt.Fprintf(w, "its names were checked against %s\n", cli.Count(v.Sampled, v.noun))
	}
}
