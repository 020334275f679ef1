package audit

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/test/e2e/program"
	"github.com/tablewake/tablewake/test/testmain"
)

var (
	injected = flag.Int("injected", 0, "how many differences of each kind are injected; default: as many as are quick")
	binary   string // the program under test, built once
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

// command is a command line of the program, in an environment.
func command(t *testing.T, env []string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	return cmd, &said
}

// run runs a command line, and wants its exit code.
func run(t *testing.T, env []string, code int, args ...string) string {
	t.Helper()
	cmd, said := command(t, env, args...)
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || !exit.Exited()) {
		t.Fatalf("tablewake %s: %v", strings.Join(args, " "), err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("tablewake %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, shortened(said.String()))
	}
	return said.String()
}

// shortened returns the beginning and the end of a long text.
func shortened(s string) string {
	const most = 3000
	if len(s) <= 2*most {
		return s
	}
	return s[:most] + "\n...\n" + s[len(s)-most:]
}
