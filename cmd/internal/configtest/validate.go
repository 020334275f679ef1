package configtest

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
)

// NewValidate is the command validate.
func NewValidate(s cli.Streams) *cobra.Command {
	var file string
	var schema bool
	var f cli.Format
	c := &cobra.Command{
		Use:   "validate -c FILE",
		Short: "Check a configuration, and print its JSON Schema",
		Long: `validate checks a configuration whole: grammar, templates, expressions, and rules that
would lose deletes or mix items. It prints every error with its line, and warnings. What a run
with --local can do without, as a state table, is an error here all the same.`,
		Example: `  tablewake validate -c tablewake.yaml
  tablewake validate --schema > tablewake.schema.json`,
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if schema {
				_, err := s.Out.Write(config.Schema())
				return err
			}
			return validate(s, file, f)
		},
	}
	cli.AddConfig(c, &file)
	c.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of the file, and nothing else")
	cli.AddFormat(c, &f)
	return c
}

// validation is what `validate -o json` prints.
type validation struct {
	Valid    bool            `json:"valid"`
	Errors   config.Problems `json:"errors"`
	Warnings config.Problems `json:"warnings"`
}

func validate(s cli.Streams, file string, f cli.Format) error {
	cfg, err := cli.LoadConfig(file)
	if err == nil && len(cfg.LocalOnly) > 0 {
		err = cli.Exit(cli.ExitConfig, cfg.LocalOnly)
	}
	problems, bad := errors.AsType[config.Problems](err)
	if err != nil && !bad {
		return err
	}
	v := validation{Valid: !bad, Errors: append(config.Problems{}, problems...), Warnings: config.Problems{}}
	if cfg != nil {
		v.Warnings = append(v.Warnings, cfg.Warnings...)
	}
	if f == cli.FormatJSON {
		if err := cli.WriteJSON(s.Out, v); err != nil {
			return err
		}
		if bad {
			return cli.Exit(cli.ExitConfig, nil)
		}
		return nil
	}
	for _, w := range v.Warnings {
		fmt.Fprintf(s.Err, "%s%v\n", cli.Warning, w)
	}
	if bad {
		return err
	}
	filters := len(cfg.Filters)
	for _, sink := range cfg.Sinks {
		filters += len(sink.Filters)
	}
	fmt.Fprintf(s.Out, "%s is valid: pipeline %s, %s, %s, %s\n",
		cfg.File, cfg.Name, cli.Plural(len(cfg.Sinks), "sink"), cli.Plural(len(cfg.Detectors), "detector"), cli.Plural(filters, "filter"))
	return nil
}
