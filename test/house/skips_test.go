package house

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// No test may be skipped. A test that lacks something must fail. The exception is a draw of rapid that does not fit:
// it is not a test, so it may skip its *rapid.T.
func TestNothingIsSkipped(t *testing.T) {
	for _, f := range tracked(t) {
		if !strings.HasSuffix(f, ".go") || strings.Contains(f, "/testdata/") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(root(t), f), nil, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not yet committed
		}
		if err != nil {
			t.Error(err)
			continue
		}
		for _, at := range skips(file) {
			t.Errorf("%s: a test is skipped: have it run everywhere, or fail", set.Position(at))
		}
	}
}

// skips returns the calls of Skip, Skipf and SkipNow, except those of a *rapid.T.
func skips(file *ast.File) (found []token.Pos) {
	var of []*ast.FuncType // the functions that enclose a node, the innermost one last
	var inspect func(n ast.Node) bool
	inspect = func(n ast.Node) bool {
		var typ *ast.FuncType
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.FuncDecl:
			typ, body = n.Type, n.Body
		case *ast.FuncLit:
			typ, body = n.Type, n.Body
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name) && !rapids(of, s.X) {
				found = append(found, n.Pos())
			}
			return true
		default:
			return true
		}
		if body != nil {
			of = append(of, typ)
			ast.Inspect(body, inspect)
			of = of[:len(of)-1]
		}
		return false
	}
	ast.Inspect(file, inspect)
	return found
}

// rapids reports whether x is a parameter of a function that encloses it, and is a *rapid.T.
func rapids(of []*ast.FuncType, x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	if !ok {
		return false
	}
	for _, typ := range slices.Backward(of) {
		for _, field := range typ.Params.List {
			if !slices.ContainsFunc(field.Names, func(n *ast.Ident) bool { return n.Name == id.Name }) {
				continue
			}
			star, ok := field.Type.(*ast.StarExpr)
			if !ok {
				return false
			}
			t, ok := star.X.(*ast.SelectorExpr)
			if !ok {
				return false
			}
			pkg, ok := t.X.(*ast.Ident)
			return ok && pkg.Name == "rapid" && t.Sel.Name == "T"
		}
	}
	return false
}

func TestSkips(t *testing.T) {
	for body, want := range map[string]int{
		`func TestX(t *testing.T) { t.Skip() }`: 1,
		`func TestX(t *testing.T) { t.Run("", func(t *testing.T) { t.Skipf("") }); if true { t.SkipNow() } }`: 2,
		`func TestX(t *testing.T) { rapid.Check(t, func(r *rapid.T) { r.Skip(); t.Skip() }) }`:                1,
		`func TestX(t *testing.T) { rapid.Check(t, func(t *rapid.T) { t.Skip() }) }`:                          0,
		`func (w *world) miss() { w.t.Skip() }`:                                                               1,
		`func FuzzX(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) { t.Fatal() }) }`:                     0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+body, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(skips(file)); got != want {
			t.Errorf("%s skips %d times, want %d", body, got, want)
		}
	}
}
