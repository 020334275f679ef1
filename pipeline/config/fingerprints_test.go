package config_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The settings of each example are stored with the outputs of a sink, so their bytes must never change.
func TestStoredSettings(t *testing.T) {
	var b strings.Builder
	for _, file := range glob(t, "testdata/good/*.yaml", "testdata/examples/*.yaml") {
		cfg, err := load(t, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range cfg.Sinks {
			for _, path := range slices.Sorted(maps.Keys(s.Settings)) {
				fmt.Fprintf(&b, "%s %s %s: %s\n", file, s.Name, path, s.Settings[path])
			}
		}
	}
	golden(t, "testdata/stored_settings.golden", b.String())
}
