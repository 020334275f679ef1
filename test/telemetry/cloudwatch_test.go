package telemetry

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The metrics in deployed files have names of the page. An alarm with a misspelled name would never go off.
func TestDeployed_MetricsAreDocumented(t *testing.T) {
	table, name := metricsTable(t), regexp.MustCompile(`\btablewake\.(?:source|events|prepare|sink|write|inflight|heldback|lag|reader|handler|audit|aws)\b[a-z.]*`)
	found := 0
	look := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllString(string(text), -1) {
			found++
			if m = strings.TrimRight(m, "."); table[m].kind == "" {
				t.Errorf("%s names %s, which nothing emits", path, m)
			}
		}
	}
	err := filepath.WalkDir("../../deploy", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".yaml") {
			look(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	look("../../template.yaml")
	look("../../cmd/tablewake/guide/consume.md")
	if found < 5 {
		t.Errorf("%d names were found", found)
	}
}
