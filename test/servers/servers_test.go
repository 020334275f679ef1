package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/test/server"
)

// without removes the names of all servers from the environment.
func without(t *testing.T) {
	for _, k := range server.Kinds() {
		t.Setenv(k.Env, "")
	}
	t.Setenv(server.OpenSearchVersionEnv, "")
}

func TestNothingIsNeededWhereEndpointsAreGiven(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	check := "exit 7"
	for _, k := range server.Kinds() {
		t.Setenv(k.Env, "http://127.0.0.1:1")
		check = `[ "$` + k.Env + `" = http://127.0.0.1:1 ] && ` + check
	}
	code, err := run([]string{"--", "/bin/sh", "-c", check})
	if code != 7 || err != nil {
		t.Errorf("got exit code %d, %v; want the command's own 7", code, err)
	}
}

func TestOnlyWhatIsAskedForIsNeeded(t *testing.T) {
	without(t)
	t.Setenv("PATH", t.TempDir())
	t.Setenv("TABLEWAKE_TEST_SQS", "http://127.0.0.1:1")
	code, err := run([]string{"-only", "sqs", "--", "/bin/sh", "-c", "exit 7"})
	if code != 7 || err != nil {
		t.Errorf("got exit code %d, %v; want the command's own 7", code, err)
	}
	code, err = run([]string{"-only", "sqs,s3", "--", "/bin/sh", "-c", "exit 7"})
	if code != 1 || err == nil || !strings.Contains(err.Error(), "Go 1.26 or later (no go on the PATH)") {
		t.Errorf("got exit code %d, %v; want what versitygw lacks", code, err)
	}
}

func TestWrongArgumentsAreSaid(t *testing.T) {
	without(t)
	for arg, want := range map[string]string{
		"-only kafka":      `no server "kafka"`,
		"go test":          `unexpected argument "go"`,
		"--":               "no command after --",
		"-such -- command": "flag provided but not defined: -such",
	} {
		code, err := run(strings.Fields(arg))
		if code != 2 || err == nil || err.Error() != want {
			t.Errorf("%s: got exit code %d, %v; want 2, %s", arg, code, err, want)
		}
	}
	if code, err := run([]string{"-h"}); code != 0 || err != nil {
		t.Errorf("-h: got exit code %d, %v", code, err)
	}
}

func TestAnotherOpenSearchIsNotMistakenForARunningOne(t *testing.T) {
	without(t)
	t.Setenv("TABLEWAKE_TEST_OPENSEARCH_TIGHT", "http://127.0.0.1:1")
	code, err := run([]string{"-opensearch", "3.8.0"})
	if code != 2 || err == nil || !strings.Contains(err.Error(), "TABLEWAKE_TEST_OPENSEARCH_TIGHT names a running server") {
		t.Errorf("got exit code %d, %v", code, err)
	}
}

func TestOpenSearch3NeedsAJDK21(t *testing.T) {
	without(t)
	t.Setenv("TABLEWAKE_TEST_JAVA21", t.TempDir())
	code, err := run([]string{"-only", "opensearch", "-opensearch", "3.8.0", "--", "/bin/sh", "-c", "exit 7"})
	if code != 1 || err == nil || !strings.Contains(err.Error(), "a JDK 21 or later, which TABLEWAKE_TEST_JAVA21 may name by its folder") {
		t.Errorf("got exit code %d, %v", code, err)
	}
	if got := os.Getenv(server.OpenSearchVersionEnv); got != "3.8.0" {
		t.Errorf("a node of a test's own would be of version %q", got)
	}
}

func TestAMissingCommandIsAnError(t *testing.T) {
	code, err := runCommand(context.Background(), []string{"no-such-command-anywhere"}, nil)
	if code == 0 || err == nil {
		t.Errorf("got %d, %v", code, err)
	}
}

func TestLookupTakesTheLast(t *testing.T) {
	got := lookup([]string{"A=1", "AB=2", "A=3"}, "A")
	if got != "A=3" || strings.Contains(lookup(nil, "A"), "1") {
		t.Errorf("got %q", got)
	}
}
