package house

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// makesFiles finds what makes a file or folder with a mode of its own.
var makesFiles = regexp.MustCompile(`\bos\.(Mkdir|MkdirAll|OpenFile|WriteFile|Create)\(|\.Chmod\(`)

// ownModes are the files that make some all the same.
var ownModes = []string{
	"pipeline/private/private.go",       // for all others
	"sinks/archive/spill.go",            // in a folder of os.MkdirTemp, which is the owner's alone
	"cmd/internal/configtest/file.go",   // a test file of the user's, with its mode
	"cmd/internal/generate/generate.go", // source code, which holds no item
	"cmd/internal/initconfig/init.go",   // a configuration and source code, which hold no item
}

// Files of the program hold items, keys and events: pipeline/private creates them, for their owner alone.
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
