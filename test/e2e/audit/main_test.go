package audit

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/program"
	"github.com/tablewake/tablewake/test/testmain"
)

var (
	injected = flag.Int("injected", 0, "how many differences of each kind are injected; default: as many as are quick")
	binary   string // path of the program under test, which is built once
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(testmain.WithoutRace(func() int {
		return program.Main(m.Run, "", map[string]*string{"./cmd/tablewake": &binary})
	}))
}

// perKind returns how many differences of each kind are injected.
func perKind(quick int) int {
	if *injected > 0 {
		return *injected
	}
	return quick
}

// commandLine has the arguments and the additional environment of a run of the program.
type commandLine struct{ env, args []string }

// start starts the program. said receives its output.
func (c *commandLine) start(t *testing.T) (cmd *exec.Cmd, said *bytes.Buffer) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), binary, c.args...)
	cmd.Env = append(os.Environ(), c.env...)
	said = new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, said
}

// run runs the program, checks its exit code and returns its output.
func (c *commandLine) run(t *testing.T, code int) string {
	t.Helper()
	cmd, said := c.start(t)
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || !exit.Exited()) {
		t.Fatalf("tablewake %s: %v", strings.Join(c.args, " "), err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("tablewake %s: exit code %d, want %d\n%s", strings.Join(c.args, " "), got, code, shortened(said.String()))
	}
	return said.String()
}

// killedAfter runs the program, kills it after some time, and returns its exit code and output. The exit code is -1 if
// it was killed.
func (c *commandLine) killedAfter(t *testing.T, after time.Duration) (code int, said string) {
	t.Helper()
	cmd, out := c.start(t)
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // the exit code shows how it ended
	return cmd.ProcessState.ExitCode(), out.String()
}

// shortened returns the beginning and the end of a long text.
func shortened(s string) string {
	const most = 3000
	if len(s) <= 2*most {
		return s
	}
	return s[:most] + "\n...\n" + s[len(s)-most:]
}
