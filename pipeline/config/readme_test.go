package config_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// The reference names every key that the grammar has, and its example is valid.
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
	for _, p := range slices.Concat(cfg.LocalOnly, cfg.Warnings) { // it works on real servers, as it is
		t.Error(p)
	}
	words := map[string]bool{}
	for _, w := range regexp.MustCompile(`[a-z_]+`).FindAllString(text, -1) {
		words[w] = true
	}
	var schema any
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	n := 0
	eachKey(schema, func(key string) {
		n++
		if !words[key] {
			t.Errorf("README.md says nothing of the key %q", key)
		}
	})
	if n < 50 {
		t.Errorf("%d keys were found in the schema", n)
	}
}

// eachKey calls do with every name under `properties`, at any depth.
func eachKey(schema any, do func(string)) {
	switch s := schema.(type) {
	case map[string]any:
		for name, sub := range s {
			if properties, ok := sub.(map[string]any); ok && name == "properties" {
				for key := range properties {
					do(key)
				}
			}
			eachKey(sub, do)
		}
	case []any:
		for _, sub := range s {
			eachKey(sub, do)
		}
	}
}
