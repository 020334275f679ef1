package inputs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/inputs"
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
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if got, err := inputs.List([]string{link}); err != nil || len(got) != 2 || got[0].Path != filepath.Join(link, "a", "z.json") {
		t.Errorf("through a link: %v, %v", got, err)
	}
	if got, err := inputs.List([]string{filepath.Dir(link)}); err == nil || !strings.Contains(err.Error(), link+" is a link to a folder") {
		t.Errorf("a link in a folder: %v, %v", got, err)
	}
	if _, err := inputs.List([]string{t.TempDir()}); err == nil || !strings.Contains(err.Error(), "holds no files") {
		t.Errorf("an empty folder: %v", err)
	}
}
