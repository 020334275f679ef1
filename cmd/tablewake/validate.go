package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/pipeline/config"
)

func newValidate(s streams) *cobra.Command {
	var file string
	var schema bool
	var f format
	c := &cobra.Command{
		Use:   "validate -c FILE",
		Short: "Check a configuration, and print its JSON Schema",
		Long: `validate checks a configuration whole: grammar, templates, expressions, and rules that
would lose deletes or mix items. It prints every error with its line, and warnings. What a run
with --local can do without, as a state table, is an error here all the same.`,
		Example: `  tablewake validate -c tablewake.yaml
  tablewake validate --schema > tablewake.schema.json`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if schema {
				_, err := s.out.Write(config.Schema())
				return err
			}
			return validate(s, file, f)
		},
	}
	addConfig(c, &file)
	c.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of the file, and nothing else")
	addFormat(c, &f)
	return c
}

// validation is what `validate -o json` prints.
type validation struct {
	Valid    bool            `json:"valid"`
	Errors   config.Problems `json:"errors"`
	Warnings config.Problems `json:"warnings"`
}

func validate(s streams, file string, f format) error {
	cfg, err := loadConfig(file)
	if err == nil && len(cfg.LocalOnly) > 0 {
		err = &exitError{exitConfig, cfg.LocalOnly}
	}
	problems, bad := errors.AsType[config.Problems](err)
	if err != nil && !bad {
		return err
	}
	v := validation{Valid: !bad, Errors: append(config.Problems{}, problems...), Warnings: config.Problems{}}
	if cfg != nil {
		v.Warnings = append(v.Warnings, cfg.Warnings...)
	}
	if f == formatJSON {
		if err := writeJSON(s.out, v); err != nil {
			return err
		}
		if bad {
			return &exitError{code: exitConfig}
		}
		return nil
	}
	for _, w := range v.Warnings {
		fmt.Fprintf(s.err, "%s%v\n", warning, w)
	}
	if bad {
		return err
	}
	filters := len(cfg.Filters)
	for _, sink := range cfg.Sinks {
		filters += len(sink.Filters)
	}
	fmt.Fprintf(s.out, "%s is valid: pipeline %s, %s, %s, %s\n",
		cfg.File, cfg.Name, counted(len(cfg.Sinks), "sink"), counted(len(cfg.Detectors), "detector"), counted(filters, "filter"))
	return nil
}

// counted is "1 sink" or "2 sinks".
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// addConfig adds -c to a command.
func addConfig(c *cobra.Command, file *string) {
	c.Flags().StringVarP(file, "config", "c", "", "the configuration file (default tablewake.yaml)")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
	*file = ""
}

// loadConfig reads a configuration; without a name, tablewake.yaml of this folder.
func loadConfig(file string) (*config.Config, error) {
	if file == "" {
		file = "tablewake.yaml"
		if _, err := os.Stat(file); err != nil {
			return nil, usageError("no tablewake.yaml here: name the configuration with -c")
		}
	}
	cfg, err := config.Load(file)
	if err != nil {
		return nil, &exitError{exitConfig, err}
	}
	return cfg, nil
}
