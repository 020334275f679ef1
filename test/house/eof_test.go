package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// failures are the files that ask for io.EOF to recognize a failed connection, or that read no connection.
var failures = []string{
	"pipeline/awserr/awserr.go", "pipeline/config/yamlbind/yaml_document.go",
	"shardreader/snapshot/export/bucket_store.go", "sinks/archive/s3/object_get.go",
}

// A failed connection makes an error that wraps io.EOF. So code that asks by errors.Is whether a reader has ended takes
// a failure for the end, and what follows is lost. pipeline.IsEnd compares.
func TestEOF_TheEndIsCompared(t *testing.T) {
	found := make(map[string]bool)
	for _, path := range tracked(t) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "test/") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join("..", "..", path), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok || len(c.Args) != 2 || !isSelector(c.Fun, "errors", "Is") || !isSelector(c.Args[1], "io", "EOF") {
				return true
			}
			if found[path] = true; !slices.Contains(failures, path) {
				t.Errorf("%s: ask by pipeline.IsEnd whether a reader has ended", fset.Position(c.Pos()))
			}
			return true
		})
	}
	for _, path := range failures {
		if !found[path] {
			t.Errorf("%s asks for io.EOF no more: take it off the list", path)
		}
	}
}

// isSelector reports whether an expression is the name of a package.
func isSelector(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg && s.Sel.Name == name
}
