package dir

import (
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPaths(t *testing.T) {
	long := strings.Repeat("a", 450)
	for name, want := range map[string]string{
		"changes/dt=2026-01-02/1-2-ab.jsonl.zst": "changes/dt=2026-01-02/1-2-ab.jsonl.zst",
		"archive/Order/USER%231/META/9.json":     "archive/Order/USER%231/META/9.json",
		"x":                                      "x~f",
		"x/y":                                    "x/y~f",
		"x.json/y.json":                          "x.json~d/y.json",
		"a//b":                                   "a/~0/b~f",
		"":                                       "~0~f",
		"/a":                                     "~0/a~f",
		"../.":                                   "~2E~2E/~2E~f",
		"a~b:c*d\x00e f.json":                    "a~7Eb~3Ac~2Ad~00e~20f.json",
		"é.json":                                 "~C3~A9.json",
		long + ".json":                           long[:200] + "~c/" + long[:200] + "~c/" + long[:50] + "~2Ejson~f",
	} {
		if got := filepath.ToSlash(pathOf(name)); got != want {
			t.Errorf("path of %q is\n%s, want\n%s", name, got, want)
		}
	}
}

// nameOf returns the name of a path, so different names have different paths. Each segment of a path is short enough
// for a file system and does not lead out of the folder.
func TestPathsAreReadBack(t *testing.T) {
	segment := rapid.OneOf(
		rapid.StringMatching(`[a~.]{0,5}`),
		rapid.StringMatching(`[a-f~:. é]{190,420}`),
		rapid.String(),
		rapid.SampledFrom([]string{"x.json", "y.zst", "..", "~tmp", "~0", "~c", "~d", "~f", "a~c", "a~d"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "segments"), "/")
		path := pathOf(name)
		got, err := nameOf(path)
		if err != nil || got != name {
			t.Fatalf("the path %q of %q is read back as %q (%v)", path, name, got, err)
		}
		for i, part := range strings.Split(filepath.ToSlash(path), "/") {
			if part == "" || part == "." || part == ".." || len(part) > 255 || i == 0 && part == temporary {
				t.Fatalf("the path %q of %q has the segment %q", path, name, part)
			}
		}
	})
}

// The file of one name is never a folder of another name.
func TestFilesAndFoldersDiffer(t *testing.T) {
	segment := rapid.StringMatching(`[ab]?(\.json|~d|~f)?`)
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(segment, 1, 3)
		file := strings.Join(names.Draw(t, "file"), "/")
		other := file + "/" + strings.Join(names.Draw(t, "below"), "/")
		if strings.HasPrefix(pathOf(other), pathOf(file)+string(filepath.Separator)) {
			t.Fatalf("%q is the file %q, and a folder of %q", file, pathOf(file), pathOf(other))
		}
	})
}

func TestForeignPathsAreRefused(t *testing.T) {
	for _, path := range []string{"~x", "a~", "a~2", "a~zz"} {
		if name, err := nameOf(path); err == nil {
			t.Errorf("%q is read as %q", path, name)
		}
	}
}
