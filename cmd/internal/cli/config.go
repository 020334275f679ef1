package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/pipeline/config"
)

// AddConfig adds the flag -c to c. Its value goes to file.
func AddConfig(c *cobra.Command, file *string) {
	c.Flags().StringVarP(file, "config", "c", "", "the configuration file (default tablewake.yaml)")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
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
		return nil, Exit(ExitConfig, err)
	}
	return cfg, nil
}
