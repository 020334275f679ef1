package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportedNamesAreDocumented parses every file of the product.
func TestExportedNamesAreDocumented(t *testing.T) {
	described := map[string]bool{} // folders with a package comment
	dirs := map[string]bool{}
	for _, f := range tracked(t) {
		if !strings.HasSuffix(f, ".go") || strings.HasSuffix(f, "_test.go") || strings.Contains(f, "/testdata/") {
			continue
		}
		path := filepath.Join(root(t), f)
		if _, err := os.Stat(path); err != nil {
			continue // deleted, and not yet committed
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			t.Error(err)
			continue
		}
		dir := filepath.Dir(f)
		dirs[dir] = true
		described[dir] = described[dir] || file.Doc != nil
		if file.Name.Name == "main" {
			continue
		}
		for _, name := range undocumented(file) {
			t.Errorf("%s: %s has no comment", f, name)
		}
	}
	for dir := range dirs {
		if !described[dir] {
			t.Errorf("%s: no package comment says what the package promises", dir)
		}
	}
}

// undocumented returns the exported functions, methods, types and values without a comment.
func undocumented(file *ast.File) []string {
	var names []string
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || exportedReceiver(d.Recv)) {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
						names = append(names, s.Name.Name)
					}
				case *ast.ValueSpec:
					if s.Names[0].IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
						names = append(names, s.Names[0].Name)
					}
				}
			}
		}
	}
	return names
}

func exportedReceiver(fields *ast.FieldList) bool {
	typ := fields.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	if g, ok := typ.(*ast.IndexExpr); ok {
		typ = g.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}
