package rights

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/policy"
)

// A tail shows changes as they are written, with the rights of a tail only.
func TestTailHasItsRights(t *testing.T) {
	const file = "queue.yaml"
	w := newWorld(t)
	rights := policy.Statements(w.config(t, file), policy.Options{Runner: policy.Tail})
	w.permit(rights)
	tail := exec.CommandContext(t.Context(), tablewake, "tail", "-n", "1", "-c", filepath.Join("testdata", file))
	tail.Env = append(os.Environ(), w.env...)
	var out bytes.Buffer
	tail.Stdout = &out
	said, err := tail.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tail.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "from now on") {
		t.Log(lines.Text())
	}
	w.write(t, "a", map[string]any{"Status": "paid", "Email": "a@example.com", "Total": 7})
	for lines.Scan() {
		t.Log(lines.Text())
	}
	if err := tail.Wait(); err != nil || !strings.Contains(out.String(), "INSERT") {
		t.Fatalf("tail: %v\n%s", err, out.String())
	}
	calls := w.taken(t)
	allowed(t, "a tail", calls, rights)
	called(t, "a tail", calls, rights, nil)
}
