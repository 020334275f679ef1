package config_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/config"
)

var update = flag.Bool("update", false, "write the golden files and the schema anew")

// environment holds the variables for the files of testdata.
var environment = map[string]string{
	"OS_URL":             "https://search.example",
	"TABLEWAKE_HMAC_KEY": "0123456789abcdef",
	"COMPLETED_QUEUE":    "https://sqs.eu-central-1.amazonaws.com/123456789012/completed",
	"HOST":               "crm.example",
	"BRACES":             "{Status}",
	"QUOTES":             `a"b'c\d`,
	"COUNT":              "7",
	"WORD":               "per_item",
}

func getenv(name string) (string, bool) {
	v, ok := environment[name]
	return v, ok
}

func load(t *testing.T, file string) (*config.Config, error) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse(file, b, getenv)
	if problems, ok := errors.AsType[config.Problems](err); ok {
		named(problems, file)
	}
	if cfg != nil {
		named(cfg.Warnings, file)
	}
	return cfg, err
}

// named removes the folder from the file names of problems.
func named(ps config.Problems, file string) {
	for i := range ps {
		ps[i].File = filepath.Base(file)
	}
}

func glob(t testing.TB, patterns ...string) []string {
	t.Helper()
	var files []string
	for _, p := range patterns {
		fs, err := filepath.Glob(p)
		if err != nil || len(fs) == 0 {
			t.Fatalf("%s: no files (%v)", p, err)
		}
		files = append(files, fs...)
	}
	return files
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run go test -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func read(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
