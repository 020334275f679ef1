package consume

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
	"strings"
	"testing"
)

// stream is a streamserver in a process of its own.
type stream struct {
	endpoint string
	http     *http.Client
}

// startStream starts a streamserver that ends with the test.
func startStream(t *testing.T, args ...string) *stream {
	t.Helper()
	cmd := exec.Command(streamserver, args...)
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
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return &stream{strings.TrimSpace(line), &http.Client{Transport: transport}}
}

// do sends a request to the server and reads the answer into out, unless out is nil.
func (s *stream) do(t *testing.T, method, path string, in, out any) {
	t.Helper()
	if err := s.ask(t.Context(), method, path, in, out); err != nil {
		t.Fatal(err)
	}
}

// ask does the same as do, and returns an error, so that goroutines beside the test can use it.
func (s *stream) ask(ctx context.Context, method, path string, in, out any) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.endpoint+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	r, err := s.http.Do(req)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s, %w: %s", method, path, r.Status, err, answer)
	}
	if out != nil {
		return json.Unmarshal(answer, out)
	}
	return nil
}

type stats struct {
	Records, Running int
	Calls, Peak      map[string]int
}

func (s *stream) stats(t *testing.T) (st stats) {
	t.Helper()
	s.do(t, http.MethodGet, "/admin/stats", nil, &st)
	return st
}

// items returns the items of the table.
func (s *stream) items(t *testing.T) []item {
	t.Helper()
	var raw []json.RawMessage
	s.do(t, http.MethodGet, "/admin/table", nil, &raw)
	items := make([]item, len(raw))
	for i, r := range raw {
		items[i] = itemOf(t, r)
	}
	return items
}
