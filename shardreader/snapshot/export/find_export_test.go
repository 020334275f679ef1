package export_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/shardreader/snapshot/export"
)

func TestExport_Paths(t *testing.T) {
	f := fixture{prefix: "2026/nov/"}
	f.data = f.data1(item("1"))
	dir := f.add(t, files{}).write(t, t.TempDir())
	folder := filepath.Join(dir, filepath.FromSlash(f.folder()))
	for _, path := range []string{dir, dir + "/", filepath.Join(dir, "2026"), filepath.Dir(folder), folder, folder + "/", filepath.Join(folder, "manifest-summary.json")} {
		if e := openExport(t, exportOptions(path)); e.Info().Source != "export "+folder+"/" {
			t.Errorf("%s: %s", path, e.Info().Source)
		}
	}
	other := filepath.Join(t.TempDir(), "copy")
	if err := os.Rename(folder, other); err != nil { // without the prefix, and under another name
		t.Fatal(err)
	}
	if got, err := readAll(t.Context(), openExport(t, exportOptions(other))); err != nil || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
	t.Chdir(filepath.Dir(other))
	if e := openExport(t, exportOptions("copy")); !filepath.IsAbs(strings.TrimPrefix(e.Info().Source, "export ")) {
		t.Errorf("a relative path: %s", e.Info().Source)
	}
}

func TestExport_NotOneExport(t *testing.T) {
	bucket, paths := chain(t, nil)
	dir := bucket.write(t, t.TempDir())
	_, err := export.Open(t.Context(), exportOptions(dir))
	want := "there are 3 exports below " + dir + ", name one of them: " + strings.Join(at(dir, paths), "/, ") + "/"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("three exports: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, filepath.FromSlash(paths[0]), "manifest-summary.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := export.Open(t.Context(), exportOptions(at(dir, paths)[0])); err == nil || !strings.Contains(err.Error(), "has no manifest-summary.json, which DynamoDB writes last: the export runs or has failed") {
		t.Errorf("an export that runs: %v", err)
	}
	if _, err := export.Open(t.Context(), exportOptions(t.TempDir())); err == nil || !strings.Contains(err.Error(), "there is no export in") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := export.Open(t.Context(), exportOptions(filepath.Join(dir, "none"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := export.Open(t.Context(), exportOptions("s3://bucket/prefix")); err == nil || !strings.Contains(err.Error(), "S3 is nil") {
		t.Errorf("no client: %v", err)
	}
	if _, err := export.Open(t.Context(), exportOptions("s3://")); err == nil || !strings.Contains(err.Error(), "names no bucket") {
		t.Errorf("no bucket: %v", err)
	}
}

// A missing file is found when the export is opened, and a file that disappears later when it is read.
func TestExport_MissingFiles(t *testing.T) {
	bucket, paths := chain(t, nil)
	dir := bucket.write(t, t.TempDir())
	layers := at(dir, paths)
	e := openExport(t, exportOptions(layers...))
	if err := os.Remove(filepath.Join(dir, "p", "AWSDynamoDB", "data", "g.json.gz")); err != nil {
		t.Fatal(err)
	}
	if _, err := readPages(t.Context(), e, "1/g.json.gz", ""); err == nil || !strings.Contains(err.Error(), "g.json.gz is missing now") {
		t.Errorf("later: %v", err)
	}
	_, err := export.Open(t.Context(), exportOptions(layers...))
	want := "1 of the 1 data files of " + layers[1] + "/ are missing, the first is g.json.gz: they are neither in "
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(filepath.Join(layers[0], "manifest-files.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := export.Open(t.Context(), exportOptions(layers...)); err == nil || !strings.Contains(err.Error(), "manifest-files.json is missing") {
		t.Errorf("%v", err)
	}
}
