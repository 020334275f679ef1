package inputs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/shardreader/internal/inputs"
)

func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.json", "a/z.json", ".hidden", ".git/x.json"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := inputs.List([]string{filepath.Join(dir, ".hidden"), dir, "-"})
	if err != nil {
		t.Fatal(err)
	}
	want := []inputs.File{
		{Path: filepath.Join(dir, ".hidden"), Named: true, Size: 2},
		{Path: filepath.Join(dir, "a", "z.json"), Size: 2},
		{Path: filepath.Join(dir, "b.json"), Size: 2},
		{Path: "-", Named: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if _, err := inputs.List([]string{t.TempDir()}); err == nil || !strings.Contains(err.Error(), "holds no files") {
		t.Errorf("an empty folder: %v", err)
	}
}
