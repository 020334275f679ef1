package formats

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// lint returns actionlint's findings about a workflow.
func lint(t *testing.T, file string, text []byte) []*actionlint.Error {
	t.Helper()
	l, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := l.Lint(file, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// GitHub can read the workflows, and the workflow for a change runs .ci/run.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", ".github", "workflows", "*.yml"))
	if err != nil || len(files) != 2 {
		t.Fatalf("workflows: %q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range lint(t, file, text) {
			t.Error(e)
		}
		if strings.HasSuffix(file, "ci.yml") {
			if !strings.Contains(string(text), "- run: .ci/run\n") {
				t.Errorf("%s does not call .ci/run", file)
			}
			broken := strings.Replace(string(text), "runs-on: ubuntu-24.04", "runs_on: ubuntu-24.04", 1)
			if len(lint(t, file, []byte(broken))) == 0 {
				t.Error("a mistake is not found")
			}
		}
	}
}
