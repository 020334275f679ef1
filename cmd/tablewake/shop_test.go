package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// The shop's tests pass, and the test in the guide is one of them.
func TestShop(t *testing.T) {
	for _, name := range []string{"OS_URL", "TABLEWAKE_HMAC_KEY", "COMPLETED_QUEUE", "TMPDIR"} {
		t.Setenv(name, "") // the configuration uses its defaults
	}
	_, text, found := strings.Cut(read(t, filepath.Join("guide", "existing.md")), "```yaml\n  - name: ")
	shown, _, ends := strings.Cut(text, "```\n")
	t.Chdir(filepath.Join("..", "..", "test", "fixtures", "shop"))
	if !found || !ends || !strings.Contains(read(t, "tablewake_test.yaml"), "  - name: "+shown) {
		t.Errorf("the guide shows no test of the shop:\n%s", shown)
	}
	var stdout, stderr bytes.Buffer
	if code := program.Main([]string{"test", "-v"}, cli.Streams{Out: &stdout, Err: &stderr}); code != cli.ExitOK || strings.Count(stdout.String(), "--- PASS: ") < 14 {
		t.Errorf("exit code %d; the shop's tests are few, or fail:\n%s%s", code, &stdout, &stderr)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
