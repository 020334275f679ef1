package consume

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a running `tablewake consume`, or another command that runs for a while.
type process struct {
	name    string
	cmd     *exec.Cmd
	out     bytes.Buffer
	log     *buffer
	done    chan struct{} // closed when the process has ended
	started time.Time
}

// buffer collects the output of a process and can be read at the same time.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts a consumer with that name whose tables are at an endpoint. The consumer ends with the test. If the test
// fails, its log is shown.
func (w *world) start(t *testing.T, name, dynamo string, args ...string) *process {
	t.Helper()
	return w.command(t, name, dynamo, append([]string{"consume", "--create", "--health", "127.0.0.1:0", "--worker", name}, args...)...)
}

// command starts a command in the same way as [world.start] starts a consumer.
func (w *world) command(t *testing.T, name, dynamo string, args ...string) *process {
	t.Helper()
	p := &process{name: name, log: &buffer{}, done: make(chan struct{}), started: time.Now()}
	p.cmd = exec.Command(tablewake, append(args, "-c", w.config, "--live", "-o", "json")...)
	p.cmd.Env = w.environment(dynamo)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the tests check the exit code
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			text := p.log.String()
			t.Logf("log of %s:\n%s", p.name, text[max(0, len(text)-6000):])
		}
	})
	return p
}

// signal sends a signal to the process.
func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("%v to %s: %v", s, p.name, err)
	}
}

// kill ends the process at once, as if its machine died.
func (p *process) kill(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGKILL)
	<-p.done
}

// ledger has the counts of a consumer that tests check.
type ledger struct {
	Records  int64
	Balanced bool
}

// stop stops a consumer softly and returns its counts. The consumer must end with 0. On a busy machine its tables may
// not answer for two thirds of a lease while it stops. In that case the consumer ends with 5.
func (p *process) stop(t *testing.T) ledger {
	t.Helper()
	p.signal(t, syscall.SIGTERM)
	p.ended(t)
	switch code := p.cmd.ProcessState.ExitCode(); {
	case code == 5 && p.cutOffWhileStopping():
		t.Logf("%s could not reach its tables while it stopped", p.name)
	case code != 0:
		t.Fatalf("%s ended with %d after SIGTERM", p.name, code)
	}
	var l ledger
	if err := json.Unmarshal(p.out.Bytes(), &l); err != nil {
		t.Fatalf("%s wrote %q: %v", p.name, p.out.String(), err)
	}
	if !l.Balanced {
		t.Errorf("the ledgers of %s do not balance: %s", p.name, p.out.String())
	}
	return l
}

// cutOffWhileStopping reports whether the tables did not answer for two thirds of a lease while the consumer stopped.
func (p *process) cutOffWhileStopping() bool {
	_, stopping, _ := strings.Cut(p.log.String(), "\nstopping: ")
	return strings.Contains(stopping, "no heartbeat succeeded for two thirds of the lease time") &&
		strings.Contains(stopping, "shards were taken away while it stopped")
}

// ended waits until the process has ended.
func (p *process) ended(t *testing.T) {
	t.Helper()
	p.endedWithin(t, patience)
}

// endedWithin waits until the process has ended, for at most the time d.
func (p *process) endedWithin(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(d):
		t.Fatalf("%s does not end", p.name)
	}
}

// says waits until the log of the process contains a text.
func (p *process) says(t *testing.T, text string) {
	t.Helper()
	until(t, fmt.Sprintf("%s says %q", p.name, text), func() bool { return strings.Contains(p.log.String(), text) })
}

// hasEnded reports whether the process has ended.
func (p *process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// verdict is the answer of /status.
type verdict struct {
	Live, Ready bool
	State       string
	Reasons     []string
	Shards      int
	Pending     int64
}

// verdict asks a consumer for its status. It returns the zero value if the consumer does not listen yet.
func (p *process) verdict(t *testing.T) (v verdict) {
	t.Helper()
	_, rest, _ := strings.Cut(p.log.String(), "health: http://")
	address, _, listens := strings.Cut(rest, "/livez")
	if !listens {
		return v
	}
	r, err := http.Get("http://" + address + "/status")
	if err != nil {
		return v
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		t.Fatalf("/status of %s: %v", p.name, err)
	}
	return v
}

// reads waits until the consumer reads shards and is ready.
func (p *process) reads(t *testing.T) {
	t.Helper()
	until(t, p.name+" reads", func() bool { v := p.verdict(t); return v.Ready && v.Shards > 0 })
}

// until waits until a condition is true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	untilWithin(t, patience, what, is)
}

// untilWithin waits until a condition is true, for at most the time d.
func untilWithin(t *testing.T, d time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(d); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s", d, what)
		}
	}
}

// lapsed reports whether the consumer could send no heartbeat for a while, for example because the machine was too
// busy. Such a consumer may read records that others have read, too.
func (p *process) lapsed() bool {
	return strings.Contains(p.log.String(), "two thirds of the lease time")
}

// healthy waits until `tablewake status` reports no problem.
func (w *world) healthy(t *testing.T) {
	t.Helper()
	var last string
	defer func() {
		if t.Failed() {
			t.Log(last)
		}
	}()
	until(t, "`tablewake status` ends with 0", func() bool {
		code, out := w.run(t, "status")
		last = out
		return code == 0
	})
}

// look runs a command on the consumers of the world, checks its exit code and returns its output.
func (w *world) look(t *testing.T, code int, args ...string) string {
	t.Helper()
	is, out := w.run(t, args...)
	if is != code {
		t.Fatalf("tablewake %s: exit code %d, want %d\n%s", strings.Join(args, " "), is, code, out)
	}
	return out
}

// run runs a command on the consumers of the world and returns its exit code and output.
func (w *world) run(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	return w.runAlone(t, append(args, "-c", w.config, "--live")...)
}

// runAlone runs a command with exactly these arguments.
func (w *world) runAlone(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tablewake, args...)
	cmd.Env = w.environment(w.dynamo)
	b, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || !exit.Exited()) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(b)
}
