package config_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// FuzzParse checks that Parse returns a valid configuration or problems, and that each problem has a place in the file.
func FuzzParse(f *testing.F) {
	for _, file := range glob(f, "testdata/*/*.yaml") {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		cfg, err := config.Parse("f.yaml", b, getenv)
		if err == nil {
			if len(cfg.Sinks) == 0 || cfg.Name == "" || len(cfg.Source.Tables) == 0 {
				t.Fatalf("taken, with %+v", cfg)
			}
			for _, s := range cfg.Sinks {
				if s.Settings["source.tables"] == "" {
					t.Fatalf("the sink %s has the settings %q", s.Name, s.Settings)
				}
			}
			return
		}
		problems, ok := errors.AsType[config.Problems](err)
		if !ok || len(problems) == 0 || cfg != nil {
			t.Fatalf("refused with %v (%T) and %v", err, err, cfg)
		}
		lines := strings.Count(string(b), "\n") + 1
		for _, p := range problems {
			if p.Line < 1 || p.Line > lines || p.Column < 1 || p.Message == "" {
				t.Errorf("not in the file of %d lines: %+v", lines, p)
			}
		}
	})
}
