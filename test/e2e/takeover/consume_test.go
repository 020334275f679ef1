package takeover

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/program"
	"github.com/tablewake/tablewake/test/server"
	"github.com/tablewake/tablewake/test/testmain"
)

// settings is a configuration that makes one row for each record. Each item is written once.
const settings = `version: 1
name: orders
source: {table: ` + source + `, emulator: dynamodb-local}
state: {table: ` + state + `}
leases: {table: ` + leases + `}
sinks:
  rows:
    view:
      table: ` + rows + `
      key: {PK: 'ROW#{PK}', SK: 'ROW'}
      attributes: {order: '{PK}'}
`

// consumer is a process of `tablewake consume`.
type consumer struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer // may be read when the process has ended
	ended          chan struct{}
}

// consume starts a consumer on the leases of the KCL application.
func (w *world) consume(t *testing.T) *consumer {
	t.Helper()
	return startConsumer(t, settings, w.endpoint, w.endpoint)
}

// startConsumer starts a process with a configuration, on the tables and streams of these endpoints.
func startConsumer(t *testing.T, text, tables, streams string) *consumer {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tablewake.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &consumer{ended: make(chan struct{})}
	c.cmd = exec.Command(binary, "consume", "-c", file, "--live", "--create", "--health", "off", "-o", "json")
	c.cmd.Env = append(os.Environ(), "AWS_REGION="+server.Region, "AWS_ACCESS_KEY_ID="+server.AccessKey, "AWS_SECRET_ACCESS_KEY="+server.SecretKey,
		"AWS_ENDPOINT_URL_DYNAMODB="+tables, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS="+streams, "AWS_EC2_METADATA_DISABLED=true")
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // the exit code shows how it ended
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it may have ended already
		<-c.ended
	})
	return c
}

// end waits until the process has ended by itself, and returns its exit code.
func (c *consumer) end(t *testing.T) int {
	t.Helper()
	select {
	case <-c.ended:
	case <-time.After(startLimit):
		_ = c.cmd.Process.Kill()
		<-c.ended
		t.Fatalf("consume has not ended in %v:\n%s", startLimit, c.stderr.Bytes())
	}
	return c.cmd.ProcessState.ExitCode()
}

// stop stops the process as a deployment does, and returns how many records it has read.
func (c *consumer) stop(t *testing.T) (read int) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := c.end(t); code != 0 {
		t.Fatalf("a consumer that was asked to stop ends with %d:\n%s", code, c.stderr.Bytes())
	}
	var sum struct {
		Ledger struct{ Source struct{ Read int } }
	}
	if err := json.Unmarshal(c.stdout.Bytes(), &sum); err != nil {
		t.Fatalf("the summary is not JSON: %v\n%s", err, c.stdout.Bytes())
	}
	return sum.Ledger.Source.Read
}

// await waits until there are rows for n records.
func (c *consumer) await(t *testing.T, w *world, n int) {
	t.Helper()
	limit := time.After(startLimit)
	for {
		have, err := w.count(t.Context(), rows)
		if err == nil && have >= n {
			return
		}
		select {
		case <-c.ended:
			t.Fatalf("consume has ended by itself, with %d:\n%s", c.cmd.ProcessState.ExitCode(), c.stderr.Bytes())
		case <-limit:
			_ = c.cmd.Process.Kill()
			<-c.ended
			t.Fatalf("%d of %d rows after %v (%v):\n%s", have, n, startLimit, err, c.stderr.Bytes())
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// Paths of the programs under test, which are built once.
var binary, bootstrap string

func TestMain(m *testing.M) {
	os.Exit(testmain.WithoutRace(func() int {
		programs := map[string]*string{"./cmd/tablewake": &binary, "./cmd/lambda": &bootstrap}
		return program.Main(m.Run, program.Function, programs)
	}))
}
