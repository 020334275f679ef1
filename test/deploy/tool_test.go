package deploy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/server"
)

// root is the path of the repository from this folder.
var root = filepath.Join("..", "..")

// tool runs a linter in the root of the repository, as a person would, and returns its output.
func tool(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	bin, err := server.PyTool(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return alone(t, exec.CommandContext(t.Context(), bin, args...))
}

// alone runs a command in the root of the repository that must not use the network. Its only way out is a proxy that
// refuses, and fails the test. Go can use only the modules that are on this machine.
func alone(t *testing.T, cmd *exec.Cmd) (string, error) {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	wall := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, q.Method+" "+q.URL.String())
		w.WriteHeader(http.StatusForbidden)
	}))
	defer wall.Close()
	cmd.Env = cmd.Environ()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		cmd.Env = append(cmd.Env, name+"="+wall.URL)
	}
	cmd.Env = append(cmd.Env, "NO_PROXY=", "no_proxy=", "GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local")
	out, err := run(t, cmd)
	mu.Lock()
	defer mu.Unlock()
	if len(asked) > 0 {
		t.Errorf("%s asks the network: %q", filepath.Base(cmd.Path), asked)
	}
	return out, err
}

// run runs a command in the root of the repository, and returns its output.
func run(t *testing.T, cmd *exec.Cmd) (string, error) {
	t.Helper()
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), "SAM_CLI_TELEMETRY=0", "CGO_ENABLED=0", "CKV_SKIP_PACKAGE_UPDATE_CHECK=true", "GOFLAGS=-buildvcs=false -trimpath -tags=lambda.norpc,grpcnotrace -ldflags=-s", "AWS_DEFAULT_REGION="+server.Region,
		"LOG_LEVEL=ERROR", "NO_COLOR=1", "PYTHONWARNINGS=ignore")
	cmd.Env = append(cmd.Env, "__SAM_CLI_APP_DIR="+samDir(t))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// samDir returns a folder for SAM which says that SAM has just looked for a newer version. Otherwise SAM asks PyPI once
// a week, and on a new machine.
func samDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "metadata.json"), fmt.Appendf(nil, `{"lastVersionCheck": %d.0, "telemetryEnabled": false}`, time.Now().Unix()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
