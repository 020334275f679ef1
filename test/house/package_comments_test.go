package house

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	goFile    = regexp.MustCompile(`[a-zA-Z0-9_/]+\.go\b`)
	inFile    = regexp.MustCompile(`([A-Za-z]\w*(?:\.[A-Za-z]\w*)?)\]? \(\w+\.go`) // a name and, in parentheses, its file
	camelCase = regexp.MustCompile(`^[A-Za-z]+[a-z][A-Z]\w*$`)
	method    = regexp.MustCompile(`\b[A-Za-z]\w*\.[A-Za-z]\w*\b`)
)

// TestPackageComments_NameWhatExists looks up the Go files and the names that a package comment mentions. A file is in the
// package's folder, or below the root if its name has a folder. A name is TYPE.NAME of the package, or is followed by its
// file in parentheses.
func TestPackageComments_NameWhatExists(t *testing.T) {
	named := 0
	tree := newTree(t)
	for _, f := range tracked(t) {
		if !strings.HasSuffix(f, ".go") || strings.Contains(f, "/testdata/") {
			continue
		}
		path := filepath.Join(root(t), f)
		if _, err := os.Stat(path); err != nil {
			continue // deleted, and not yet committed
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Error(err)
			continue
		}
		text := strings.Join(strings.Fields(file.Doc.Text()), " ")
		declared := tree.declared(filepath.Dir(f))
		members := make(map[string]bool) // methods and fields of any type
		types := make(map[string]bool)   // types with methods or fields
		for name := range declared {
			if typ, member, ok := strings.Cut(name, "."); ok {
				types[typ], members[member] = true, true
			}
		}
		for _, name := range method.FindAllString(text, -1) {
			if typ, _, _ := strings.Cut(name, "."); types[typ] && !declared[name] && !strings.HasSuffix(name, ".go") {
				t.Errorf("%s: its package comment names %s, which does not exist", f, name)
			}
		}
		for _, m := range inFile.FindAllStringSubmatch(text, -1) {
			if name := m[1]; camelCase.MatchString(name) && !declared[name] && !members[name] {
				t.Errorf("%s: its package comment names %s, which does not exist", f, name)
			}
		}
		for _, name := range goFile.FindAllString(text, -1) {
			named++
			place := filepath.Join(filepath.Dir(path), name)
			if strings.Contains(name, "/") {
				place = filepath.Join(root(t), name)
			}
			if _, err := os.Stat(place); err != nil {
				t.Errorf("%s: its package comment names %s, which does not exist", f, name)
			}
		}
	}
	if named < 100 {
		t.Errorf("found %d files in package comments: is the pattern wrong?", named)
	}
}
