package house

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// makesFiles matches code that makes a file or folder with its own mode.
var makesFiles = regexp.MustCompile(`\bos\.(Mkdir|MkdirAll|OpenFile|WriteFile|Create)\(|\.Chmod\(`)

// ownModes lists the files that may do so.
var ownModes = []string{
	"pipeline/private/private.go",          // makes files for all other packages
	"sinks/archive/disk_spill.go",          // in a folder of os.MkdirTemp, which only the owner can read
	"cmd/internal/configtest/test_file.go", // a test file of the user, with its own mode
	"cmd/internal/generate/generate.go",    // source code without items
	"cmd/internal/initconfig/init.go",      // a configuration and source code without items
}

// Files of the program hold items, keys and events. pipeline/private creates them, so that only their owner can read
// them.
func TestFilesArePrivate(t *testing.T) {
	for _, f := range tracked(t) {
		top, _, _ := strings.Cut(f, "/")
		if !slices.Contains([]string{"cmd", "handlers", "pipeline", "shardreader", "sinks"}, top) || !strings.HasSuffix(f, ".go") ||
			strings.HasSuffix(f, "_test.go") || strings.HasSuffix(filepath.Dir(f), "test") || slices.Contains(ownModes, f) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root(t), f))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(b), "\n") {
			if makesFiles.MatchString(line) {
				t.Errorf("%s:%d: %s: make it with pipeline/private", f, i+1, strings.TrimSpace(line))
			}
		}
	}
}
