package house

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// topLevel lists everything that may be at the top level, except dot files.
var topLevel = []string{"handlers", "pipeline", "sinks", "shardreader", "deploy", "cmd", "test",
	"go.mod", "go.sum", "template.yaml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "DESIGN.md", "SECURITY.md"}

func TestTopLevel(t *testing.T) {
	for _, f := range tracked(t) {
		top, _, _ := strings.Cut(f, "/")
		if !strings.HasPrefix(top, ".") && !slices.Contains(topLevel, top) {
			t.Errorf("%s: nothing but %s and dot files at the top level", f, strings.Join(topLevel, ", "))
		}
	}
}

func TestNoDrawers(t *testing.T) {
	drawers := []string{"util.go", "utils.go", "common.go", "helpers.go", "types.go", "misc.go"}
	for _, f := range tracked(t) {
		if name := f[strings.LastIndexByte(f, '/')+1:]; slices.Contains(drawers, name) {
			t.Errorf("%s: a file is named for its one idea", f)
		}
	}
}

// tracked returns the files that git knows or would add.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
