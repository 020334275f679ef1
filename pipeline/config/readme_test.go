package config_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// The first example in README.md is valid.
func TestReadme(t *testing.T) {
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	_, rest, _ := strings.Cut(text, "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("no example")
	}
	cfg, err := config.Parse("README.md", []byte(example), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	// the example must work on real servers without a change
	for _, p := range slices.Concat(cfg.LocalOnly, cfg.Warnings) {
		t.Error(p)
	}
}
