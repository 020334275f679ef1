package patterns

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Each sink in the cookbook is a sink of the tested file, except the two that the guide adds.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../../cmd/tablewake/guide/patterns.md")
	check(t, err)
	tested, err := os.ReadFile("testdata/patterns.yaml")
	check(t, err)
	left := sinksOf(t, tested)
	n := len(left)
	for _, block := range strings.Split(string(guide), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for name, sink := range sinksOf(t, []byte(block)) {
			if name == "everything" || name == "store_search" {
				continue
			}
			if want, found := left[name]; !found {
				t.Errorf("the tested file has no %s, or the guide has two", name)
			} else if !bytes.Equal(want, sink) {
				t.Errorf("%s: the guide has\n%sand the tested file\n%s", name, sink, want)
			}
			delete(left, name)
		}
	}
	for name := range left {
		t.Errorf("the guide lacks %s", name)
	}
	if n < 11 {
		t.Errorf("%d patterns are tested", n)
	}
}

// sinksOf returns the sinks of a file in one form, by name.
func sinksOf(t *testing.T, file []byte) map[string][]byte {
	t.Helper()
	var f struct{ Sinks map[string]any }
	check(t, yaml.Unmarshal(file, &f))
	sinks := make(map[string][]byte)
	for name, sink := range f.Sinks {
		b, err := yaml.Marshal(sink)
		check(t, err)
		sinks[name] = b
	}
	return sinks
}
