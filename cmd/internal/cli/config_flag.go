package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// AddConfig adds the flag -c to c. Its value goes to file.
func AddConfig(c *cobra.Command, file *string) {
	c.Flags().StringVarP(file, "config", "c", "", "the configuration file (default tablewake.yaml)")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
}

// SourceTable returns the source table of cfg that has the given name, the value of --table. If name is "", it returns
// the only source table. It returns an error if cfg has no such table, or if name is "" and cfg has several.
func SourceTable(cfg *config.Config, name string) (config.Table, error) {
	tables := cfg.Source.Tables
	names := make([]string, len(tables))
	for i := range tables {
		names[i] = tables[i].Name
	}
	i := slices.Index(names, name)
	switch {
	case name == "" && len(tables) == 1:
		return tables[0], nil
	case i >= 0:
		return tables[i], nil
	case name == "":
		return config.Table{}, Usagef("--table is missing: the source has several, %s", strings.Join(names, ", "))
	}
	return config.Table{}, CheckNames("table", cfg.File+" has no such source table", names, name)
}

// CheckSinks returns a usage error if cfg lacks a sink that --sink names.
func CheckSinks(cfg *config.Config, names ...string) error {
	return CheckNames("sink", cfg.File+" has no such sink", SinkNames(cfg), names...)
}

// SinkNames returns the names of cfg's sinks.
func SinkNames(cfg *config.Config) []string {
	names := make([]string, len(cfg.Sinks))
	for i := range cfg.Sinks {
		names[i] = cfg.Sinks[i].Name
	}
	return names
}

// CheckNames returns a usage error if one of the names, the values of a flag, is not in known. problem is the first
// part of its text, such as "tablewake.yaml has no such sink".
func CheckNames(flag, problem string, known []string, names ...string) error {
	for _, name := range names {
		if !slices.Contains(known, name) {
			return Usagef("%w", UnknownName(fmt.Sprintf("--%s %q: %s", flag, name, problem), name, known))
		}
	}
	return nil
}

// UnknownName returns the error about a name that the user typed and that is not in known. problem is the first part of
// its text. The error names the most similar known name, or lists all.
func UnknownName(problem, name string, known []string) error {
	return fmt.Errorf("%s; %s", problem, yamlbind.Hint(name, known, "there are"))
}

// LoadConfig reads and validates a configuration file. The default file is tablewake.yaml in the working directory.
func LoadConfig(file string) (*config.Config, error) {
	if file == "" {
		file = "tablewake.yaml"
		if _, err := os.Stat(file); err != nil {
			return nil, Usagef("no tablewake.yaml here: name the configuration with -c")
		}
	}
	cfg, err := config.Load(file)
	if err != nil {
		return nil, WithExitCode(ExitConfig, withYAMLHint(file, err))
	}
	return cfg, nil
}

// withYAMLHint returns the error of a configuration file. If a .yml file is missing, and the .yaml file of the same
// name exists, the error names that file.
func withYAMLHint(file string, err error) error {
	stem, isYML := strings.CutSuffix(file, ".yml")
	if !isYML || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, statErr := os.Stat(stem + ".yaml"); statErr != nil {
		return err
	}
	return fmt.Errorf("%w; did you mean %s?", err, stem+".yaml")
}
