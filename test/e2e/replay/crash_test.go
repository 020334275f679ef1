package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A replay may be killed at any moment. The next replay into the folder leaves the same result as one clean pass.
func TestKilled(t *testing.T) {
	t.Parallel()
	lines := shopStream(t)
	cs := understood(t, lines)
	whole := shop.want(cs)
	rng := random(t)
	out := t.TempDir()
	for range 5 {
		p := start(t, shop, out)
		fed := 200 + rng.IntN(len(lines)-200)
		p.feed(t, joined(lines[:fed]))
		time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond) // the kill may come at any moment
		p.signal(t, os.Kill)
		if code := p.wait(t).code; code != -1 {
			t.Fatalf("exit code %d of a killed process", code)
		}
		within(t, look(t, shop, out), whole)
	}
	replayed(t, 0, shop, out, fixture+"stream.jsonl")
	check(t, shop, out, cs)
}

// within checks that everything that is already archived is right.
func within(t *testing.T, got, whole state) {
	t.Helper()
	for _, part := range []string{deleted, history} {
		for name, is := range got[part] {
			if is != whole[part][name] {
				t.Errorf("%s: %s is %s, want %q", part, name, is, whole[part][name])
			}
		}
	}
}

// A terminated replay writes the changes that it has read, reports its counts, and ends with 5. The next replay
// continues.
func TestTerminated(t *testing.T) {
	read := 0
	t.Parallel()
	lines := shopStream(t)
	cs := understood(t, lines)
	rng := random(t)
	out := t.TempDir()
	for range 3 {
		p := start(t, shop, out)
		p.feed(t, joined(lines[:500+rng.IntN(len(lines)-500)]))
		p.signal(t, syscall.SIGTERM)
		r := p.wait(t)
		if r.code != 5 {
			t.Fatalf("exit code %d after SIGTERM, want 5\n%s%s", r.code, r.stdout, r.stderr)
		}
		var l ledgers
		if err := json.Unmarshal([]byte(r.stdout), &l); err != nil || !l.Balanced {
			t.Errorf("%v, balanced %v: %s", err, l.Balanced, r.stdout)
		}
		for name, sink := range l.Ledger.Sinks {
			if sink.Pending != 0 {
				t.Errorf("%s: %d changes are pending after a soft stop", name, sink.Pending)
			}
		}
		// All changes that were read in this round or an earlier round are written, and no others.
		read = max(read, int(l.Ledger.Source.Read))
		check(t, shop, out, cs[:read])
	}
	replayed(t, 0, shop, out, fixture+"stream.jsonl")
	check(t, shop, out, cs)
}

// process is a running replay of standard input.
type process struct {
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr bytes.Buffer
}

func start(t *testing.T, p pipelineFile, out string) *process {
	t.Helper()
	s := &process{cmd: exec.CommandContext(t.Context(), binary, "replay", "-c", p.file(t), "--local", out, "-o", "json", "-")}
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// feed writes to the standard input. It returns when the process has read all but the last bytes.
func (s *process) feed(t *testing.T, b []byte) {
	t.Helper()
	if _, err := s.stdin.Write(b); err != nil {
		t.Fatalf("%v\n%s", err, s.stderr.String())
	}
}

func (s *process) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

func (s *process) wait(t *testing.T) result {
	t.Helper()
	err := s.cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return result{s.cmd.ProcessState.ExitCode(), s.stdout.String(), s.stderr.String()}
}
