package lambda

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/server"
)

// startStream starts a stream of the table shop in a process of its own, makes the writes of the fixture's records, and
// returns the endpoint.
func startStream(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(streamserver, "-table", "shop", "-shards", "4")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	endpoint := strings.TrimSpace(line)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for _, r := range world.ShopStream(t) {
		writeAgain(t, &http.Client{Transport: transport}, endpoint, r)
	}
	return endpoint
}

// writeAgain makes the write that a record describes.
func writeAgain(t *testing.T, c *http.Client, endpoint string, record []byte) {
	t.Helper()
	var r struct {
		DynamoDB     struct{ Keys, NewImage json.RawMessage } `json:"dynamodb"`
		UserIdentity json.RawMessage                          `json:"userIdentity"`
	}
	if err := json.Unmarshal(record, &r); err != nil {
		t.Fatal(err)
	}
	path, body := "/admin/put", fmt.Sprintf(`{"item":%s}`, r.DynamoDB.NewImage)
	if r.DynamoDB.NewImage == nil {
		path, body = "/admin/delete", fmt.Sprintf(`{"item":%s,"expire":%t}`, r.DynamoDB.Keys, r.UserIdentity != nil)
	}
	resp, err := c.Post(endpoint+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", path, resp.Status, err, answer)
	}
}

// environment returns the environment of a program that works on a world and reads a stream.
func environment(w *world.World, stream string) []string {
	return append(append(os.Environ(), w.Environment(w.To)...),
		"AWS_REGION="+server.Region, "AWS_ACCESS_KEY_ID="+server.AccessKey, "AWS_SECRET_ACCESS_KEY="+server.SecretKey, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS="+stream, "AWS_ENDPOINT_URL_STS="+stream)
}

// commandLimit is the longest time that a run of tablewake may take.
const commandLimit = 4 * time.Minute

// output runs tablewake to its end, and returns its output. If the run takes too long, it ends with the stacks of its
// goroutines.
func output(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), commandLimit, fmt.Errorf("it did not end within %v", commandLimit))
	defer cancel()
	cmd := exec.CommandContext(ctx, tablewake, args...)
	cmd.Env = env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return string(out), err
}

// run runs tablewake to its end. The run must succeed.
func run(t *testing.T, env []string, args ...string) {
	t.Helper()
	if out, err := output(t, env, args...); err != nil {
		t.Fatalf("tablewake %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// recorded records a stream with `tablewake record`, and returns the file and its records.
func recorded(t *testing.T, w *world.World, stream string) (file string, records [][]byte) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "stream.jsonl")
	run(t, environment(w, stream), "record", "--table", "shop", "--out", file)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, bytes.Split(bytes.TrimSpace(b), []byte("\n"))
}
