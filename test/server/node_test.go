package server

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/test/testmain"
)

func TestMain(m *testing.M) {
	testmain.Run(m, testmain.Child("AWS_LAMBDA_RUNTIME_API", runFunction)) // the process is the bootstrap of a test's function
}

// clock returns the kind of a small server that reports how often it was started on its data.
func clock() *Kind {
	return &Kind{
		Name:     "clock",
		folder:   "clock",
		settings: []string{"first"},
		install:  func(context.Context, string) error { return nil },
		command: func(_, home, port string, settings []string) *exec.Cmd {
			const program = `
import http.server, sys, os
home, port, settings = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
with open(os.path.join(home, "starts"), "a") as f: f.write("x")
if "broken" in settings: sys.exit("no such setting: broken")
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        self.wfile.write(("%s %s" % (open(os.path.join(home, "starts")).read(), ",".join(settings))).encode())
http.server.HTTPServer(("127.0.0.1", port), H).serve_forever()
`
			return exec.Command("python3", append([]string{"-c", program, home, port}, settings...)...)
		},
		ready: healthy,
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestANodeRestartsOnItsDataAndPort(t *testing.T) {
	t.Setenv("TABLEWAKE_TEST_CACHE", t.TempDir())
	n := clock().StartFor(t, "own")
	url := n.Endpoint()
	if got := get(t, url); got != "x first,own" {
		t.Errorf("after the start: %q", got)
	}
	if err := n.Restart(t.Context(), "more"); err != nil {
		t.Fatal(err)
	}
	if got := get(t, url); got != "xx first,own,more" {
		t.Errorf("after the restart: %q", got)
	}
	n.Kill()
	n.Stop() // the node does not run, so there is no error and no wait
	if err := healthy(t.Context(), url); err == nil {
		t.Error("it answers after Kill")
	}
	if err := n.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := get(t, url); got != "xxx first,own,more" {
		t.Errorf("after a crash: %q", got)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(n.home); !os.IsNotExist(err) {
		t.Errorf("its data are left: %v", err)
	}
}

func TestANodeThatDoesNotStartTellsWhatItSaid(t *testing.T) {
	t.Setenv("TABLEWAKE_TEST_CACHE", t.TempDir())
	_, err := clock().Start(t.Context(), "broken")
	if err == nil || !strings.Contains(err.Error(), "starting clock: it ended at once") || !strings.Contains(err.Error(), "no such setting: broken") {
		t.Errorf("got %v", err)
	}
}

// failing is a test that records its failure.
type failing struct {
	TB
	said string
}

func (f *failing) Fatal(args ...any) { f.said = args[0].(string) }

func TestAMissingServerFailsTheTest(t *testing.T) {
	for _, k := range Kinds() {
		t.Setenv(k.Env, "")
		f := &failing{TB: t}
		if k.Endpoint(f); !strings.Contains(f.said, k.Env) || !strings.Contains(f.said, "go run ./test/servers -- go test ./...") {
			t.Errorf("%s: said %q", k.Name, f.said)
		}
		t.Setenv(k.Env, "http://127.0.0.1:1")
		if url := k.Endpoint(t); url != "http://127.0.0.1:1" {
			t.Errorf("%s: endpoint %q", k.Name, url)
		}
	}
}
