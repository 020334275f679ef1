package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMissingToolsAreSaidInOneLine(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	old := "#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n"
	if err := os.WriteFile(filepath.Join(bin, "java"), []byte(old), 0o755); err != nil {
		t.Fatal(err)
	}
	err := checkMachine([]server{dynamoDBLocal})
	if err == nil {
		t.Fatal("a machine with Java 11 and no Maven passed")
	}
	const want = "this machine lacks Java 17 or later (java is version 11) and Maven 3 or later (no mvn on the PATH); " +
		"install it, or name running servers in the environment (TABLEWAKE_TEST_DYNAMODB)"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

func TestNothingIsNeededWhereEndpointsAreGiven(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(dynamoDBLocal.env, "http://127.0.0.1:1")
	code, err := run([]string{"--", "/bin/sh", "-c", `[ "$` + dynamoDBLocal.env + `" = http://127.0.0.1:1 ] && exit 7`})
	if code != 7 || err != nil {
		t.Errorf("got exit code %d, %v; want the command's own 7", code, err)
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

func TestInstallHappensOnce(t *testing.T) {
	t.Setenv("TABLEWAKE_TEST_CACHE", t.TempDir())
	runs := 0
	s := server{name: "x", install: func(context.Context, string) error { runs++; return nil }}
	for range 2 {
		if _, err := s.installed(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if runs != 1 {
		t.Errorf("installed %d times", runs)
	}
}
