package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

// The shop's tests pass; the one that the README shows is of them, and fails as the
// README says when the configuration is changed.
func TestShop(t *testing.T) {
	for _, name := range []string{"OS_URL", "TABLEWAKE_HMAC_KEY", "COMPLETED_QUEUE", "TMPDIR"} {
		t.Setenv(name, "") // as the configuration has them
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(root, "test", "fixtures", "shop"))
	if got := tablewake(t, "test -v", ""); strings.Count(got, "--- PASS: ") < 14 {
		t.Errorf("the shop's tests are few:\n%s", got)
	}

	tests := read(t, "tablewake_test.yaml")
	_, text, found := strings.Cut(read(t, filepath.Join(root, "README.md")), "```yaml\n  - name: ")
	shown, text, ends := strings.Cut(text, "```\n")
	if !found || !ends || !strings.Contains(tests, "  - name: "+shown) {
		t.Errorf("the README shows no test of the shop:\n%s", shown)
	}
	_, text, found = strings.Cut(text, "```\n$ tablewake ")
	command, text, ends := strings.Cut(text, "\n")
	want, _, closed := strings.Cut(text, "```")
	if !found || !ends || !closed {
		t.Fatal("the README shows no test that fails")
	}
	other := t.TempDir()
	for name, text := range map[string]string{
		"tablewake_test.yaml":   tests,
		"tablewake.yaml":        strings.ReplaceAll(read(t, "tablewake.yaml"), "on_ttl_delete: keep", "on_ttl_delete: retract"),
		"products.mapping.json": read(t, "products.mapping.json"),
		"stream.jsonl":          "",
	} {
		if err := os.WriteFile(filepath.Join(other, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(other)
	var stdout, stderr bytes.Buffer
	if code := program.Main(strings.Fields(command), cli.Streams{Out: &stdout, Err: &stderr}); code != cli.ExitFailure || stderr.Len() > 0 {
		t.Errorf("tablewake %s: exit code %d\n%s", command, code, stderr.String())
	}
	if diff := cmp.Diff(want, stdout.String()); diff != "" {
		t.Errorf("tablewake %s (-README +command):\n%s", command, diff)
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
