package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program that the guide shows compiles.
func TestGuide(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "tablewake", "guide", "go.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```go\npackage main\n")
	program, _, ends := strings.Cut(text, "\n```\n")
	if !found || !ends || !strings.Contains(program, "cli.Main(") {
		t.Fatal("the guide shows no program")
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte("package main\n"+program+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput(); err != nil {
		t.Errorf("it does not compile: %v\n%s", err, out)
	}
}
