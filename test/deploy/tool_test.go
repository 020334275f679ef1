package deploy

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/test/server"
)

// root is the tree's, from this folder.
var root = filepath.Join("..", "..")

// tool runs a linter in the tree's root, as a person does there, and is what it printed. It
// asks nothing of the network and tells nobody that it ran.
func tool(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	bin, err := server.PyTool(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return run(t, exec.CommandContext(t.Context(), bin, args...))
}

// run runs a command in the tree's root.
func run(t *testing.T, cmd *exec.Cmd) (string, error) {
	t.Helper()
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), "SAM_CLI_TELEMETRY=0", "GOFLAGS=-buildvcs=false", "AWS_DEFAULT_REGION="+server.Region,
		"LOG_LEVEL=ERROR", "NO_COLOR=1", "PYTHONWARNINGS=ignore")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
