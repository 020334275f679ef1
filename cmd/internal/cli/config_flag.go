package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/pipeline/config"
)

// AddConfig adds the flag -c to c. Its value goes to file.
func AddConfig(c *cobra.Command, file *string) {
	c.Flags().StringVarP(file, "config", "c", "", "the configuration file (default tablewake.yaml)")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
}

// SourceTable returns the source table of cfg that has the given name, the value of --table. If name is "", it returns
// the only source table. It returns an error if cfg has no such table, or if name is "" and cfg has several.
func SourceTable(cfg *config.Config, name string) (config.Table, error) {
	if name == "" && len(cfg.Source.Tables) == 1 {
		return cfg.Source.Tables[0], nil
	}
	var names []string
	for _, t := range cfg.Source.Tables {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	if name == "" {
		return config.Table{}, Usagef("--table is missing: the source has several, %s", strings.Join(names, ", "))
	}
	return config.Table{}, Usagef("--table %q: the source has %s", name, strings.Join(names, ", "))
}

// UnknownSink returns the usage error of a flag that names a sink that cfg does not have. It names a similar sink.
func UnknownSink(cfg *config.Config, flag, name, advice string) error {
	var names []string
	for i := range cfg.Sinks {
		names = append(names, cfg.Sinks[i].Name)
	}
	text := fmt.Sprintf("--%s %q: %s has no such sink", flag, name, cfg.File)
	for _, hint := range []string{NearName(name, names), advice} {
		if hint != "" {
			text += "; " + hint
		}
	}
	return Usagef("%s", text)
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
	stem, isYML := strings.CutSuffix(file, ".yml")
	if isYML && errors.Is(err, fs.ErrNotExist) {
		if _, statErr := os.Stat(stem + ".yaml"); statErr == nil {
			err = fmt.Errorf("%w; did you mean %s?", err, stem+".yaml")
		}
	}
	if err != nil {
		return nil, WithExitCode(ExitConfig, err)
	}
	return cfg, nil
}
