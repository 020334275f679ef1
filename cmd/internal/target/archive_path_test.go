package target

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// A path is recognised as the archive's own one, also if the folder is named by a link and the archive does not exist
// yet.
func TestOverlappingPath_Link(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	s := config.Sink{Name: "log", Archive: &config.Archive{}}
	for _, f := range []Flags{{Local: link}, {Local: real}} {
		for path, isOwn := range map[string]bool{
			real: true, link: true, filepath.Join(link, "archive", "log"): true, filepath.Join(link, "archive", "logs"): false,
			filepath.Join(dir, "other"): false, "-": false, "s3://log/": false,
		} {
			if got := f.OverlappingPath(s, []string{path}) != ""; got != isOwn {
				t.Errorf("%s in %s: own %t, want %t", path, f.Local, got, isOwn)
			}
		}
	}
}
