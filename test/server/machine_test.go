package server

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// fake writes a program that prints a text into the folder.
func fake(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho '"+text+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestMissingToolsAreSaidInOneLine(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv(OpenSearchVersionEnv, "")
	fake(t, bin, "java", `openjdk version "11.0.2" 2019-01-15`)
	fake(t, bin, "javac", "javac 17.0.15")
	fake(t, bin, "python3", "no such module")
	fake(t, bin, "go", "go version go1.26.0 linux/amd64")
	err := CheckMachine(Kinds()...)
	if err == nil {
		t.Fatal("a machine with Java 11 and no Maven passed")
	}
	const want = "this machine lacks Java 17 or later (java is version 11) and Maven 3 or later (no mvn on the PATH) and " +
		"a JDK 17 or later (java is version 11) and Python 3 with venv and pip " +
		"(python3 -c import ensurepip, sys, venv; print(sys.version_info.major) fails); " +
		"install it, or name running servers in the environment (TABLEWAKE_TEST_DYNAMODB, TABLEWAKE_TEST_OPENSEARCH, " +
		"TABLEWAKE_TEST_OPENSEARCH_TIGHT, TABLEWAKE_TEST_S3, TABLEWAKE_TEST_MOTO, TABLEWAKE_TEST_SQS)"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

func TestOpenSearch3TakesTheJDKThatIsNamed(t *testing.T) {
	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	fake(t, bin, "java", `openjdk version "21.0.2" 2024-01-16`)
	fake(t, bin, "javac", "javac 21.0.2")
	path := t.TempDir()
	fake(t, path, "mvn", "Apache Maven 3.8.7")
	t.Setenv("PATH", path)
	t.Setenv("TABLEWAKE_TEST_JAVA21", home)
	t.Setenv(OpenSearchVersionEnv, "3.8.0")
	if err := CheckMachine(OpenSearch()); err != nil {
		t.Error(err)
	}
}

func TestInstallHappensOnce(t *testing.T) {
	t.Setenv("TABLEWAKE_TEST_CACHE", t.TempDir())
	runs := 0
	k := &Kind{folder: "x", install: func(context.Context, string) error { runs++; return nil }}
	for range 2 {
		if _, err := k.Install(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if runs != 1 {
		t.Errorf("installed %d times", runs)
	}
}
