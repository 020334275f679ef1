package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/test/e2e/program"
	"github.com/tablewake/tablewake/test/testmain"
)

// binary is the path of the program under test, which is built once.
var binary string

func TestMain(m *testing.M) {
	os.Exit(testmain.WithoutRace(func() int {
		return program.Main(m.Run, "", map[string]*string{"./cmd/tablewake": &binary})
	}))
}

// result has the exit code and the output of a run of the program.
type result struct {
	code           int
	stdout, stderr string
}

// tablewake runs the program with these arguments.
func tablewake(t *testing.T, stdin io.Reader, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || !exit.Exited()) {
		t.Fatalf("tablewake %s: %v", strings.Join(args, " "), err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// ledgers has the counts of a replay that tests check.
type ledgers struct {
	Balanced bool `json:"balanced"`
	Ledger   struct {
		Source struct{ Read, Undecodable, Routed, Duplicate int64 }
		Sinks  map[string]struct {
			Routed, Written, Pending int64
			DeadLettered             int64 `json:"dead_lettered"`
		}
		Events map[string]int64
	}
}

// replayed runs a replay into the folder out, checks its exit code and returns its counts.
func replayed(t *testing.T, code int, p pipelineFile, out string, args ...string) (ledgers, result) {
	t.Helper()
	return replayedFrom(t, nil, code, p, out, args...)
}

// replayedFrom does the same as replayed, with a standard input.
func replayedFrom(t *testing.T, stdin io.Reader, code int, p pipelineFile, out string, args ...string) (ledgers, result) {
	t.Helper()
	all := append([]string{"replay", "-c", p.file(t), "--local", out, "-o", "json"}, args...)
	r := tablewake(t, stdin, all...)
	if r.code != code {
		t.Fatalf("tablewake %s\nexit code %d, want %d\n%s%s", strings.Join(all, " "), r.code, code, r.stdout, r.stderr)
	}
	var l ledgers
	if r.stdout != "" {
		if err := json.Unmarshal([]byte(r.stdout), &l); err != nil {
			t.Fatalf("the summary is not JSON: %v\n%s", err, r.stdout)
		}
		if !l.Balanced {
			t.Errorf("the ledgers do not balance: %s", r.stdout)
		}
	}
	return l, r
}

// pipelineFile is a configuration. It is a file of the repository or a text.
type pipelineFile struct {
	path, text string
	rows       string // name of the view table
	index      string // name of the search index
	bucket     string // bucket of the archive
	ofItem     string // prefix of the objects of items
	log        string // prefix of the log
	want       func([]change) state
}

// file returns the path of the configuration.
func (p pipelineFile) file(t *testing.T) string {
	t.Helper()
	if p.path != "" {
		return p.path
	}
	path := filepath.Join(t.TempDir(), "tablewake.yaml")
	write(t, path, []byte(p.text))
	return path
}

// write writes a file, and makes its folder if needed.
func write(t *testing.T, path string, body []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, body, 0o644); err != nil {
		t.Fatal(err)
	}
}

// saved writes a file into a folder of the test and returns its path.
func saved(t *testing.T, name string, body []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	write(t, path, body)
	return path
}
