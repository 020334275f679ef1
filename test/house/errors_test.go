package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// speaking lists the packages whose errors appear in log lines: planners, stores, readers, and packages around them.
var speaking = []string{"pipeline", "pipeline/decimal", "pipeline/internal/ddbjson", "pipeline/item", "pipeline/record", "pipeline/unmarshal", "pipeline/rules", "pipeline/mask", "pipeline/expr", "pipeline/template", "sinks", "sinks/view", "sinks/search", "sinks/archive", "sinks/notify", "sinks/deadletter", "sinks/state", "sinks/redrive", "sinks/internal", "handlers", "shardreader"}

// silent matches packages below them whose errors come from tests, the start, or commands.
var silent = regexp.MustCompile(`test$|/testdata|^sinks/archive/athena|^sinks/internal/(awstest|linefile|fingerprint|queue|awserr)`)

// setup matches functions that check options and open stores. Their errors end the start and are printed with the
// whole text.
var setup = regexp.MustCompile(`^(New.*|new[A-Z].*|Open|check|checkTags|checkColumns|checkName|CheckIndex|validate|withDefaults|compileFields|serverURL|rename|connection|setGoSink|noGoSink|addDetectors|DecodeInto|NewMask|Unescape|Parse[A-Z].*)$`)

// An error from errors.New or fmt.Errorf that wraps no other error appears as *errors.errorString in a log. Errors of
// planners, stores and readers must have a class: they come from redact.Class, or their type is a redact.Described.
func TestErrors_HaveAClass(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, dir := range speaking {
		each(t, root, dir, func(path string, fset *token.FileSet, f *ast.File) {
			for _, decl := range f.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					if setup.MatchString(d.Name.Name) || path == "pipeline/redact/error_class.go" {
						continue
					}
				case *ast.GenDecl:
					if d.Tok != token.VAR {
						continue
					}
				}
				ast.Inspect(decl, func(n ast.Node) bool {
					if c, ok := n.(*ast.CallExpr); ok && anonymous(c) {
						t.Errorf("%s: a log has nothing of this error: make it by errs (redact.Class)", fset.Position(c.Pos()))
					}
					return true
				})
			}
		})
	}
}

// An error type of the readers must have its own text for logs, or wrap an error that has one.
func TestErrors_TypesOfReaders(t *testing.T) {
	types, methods := map[string]string{}, map[string]bool{}
	each(t, filepath.Join("..", ".."), "shardreader", func(path string, fset *token.FileSet, f *ast.File) {
		for _, decl := range f.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok || d.Recv == nil {
				continue
			}
			of := filepath.Dir(path) + "." + receiver(d)
			methods[of+"."+d.Name.Name] = true
			if d.Name.Name == "Error" && d.Type.Params.NumFields() == 0 {
				types[of] = fset.Position(d.Pos()).String()
			}
		}
	})
	for of, at := range types {
		if !methods[of+".Unwrap"] && (!methods[of+".Redacted"] || !methods[of+".Describe"]) {
			t.Errorf("%s: a log has nothing of %s: give it Redacted and Describe, or Unwrap", at, of)
		}
	}
}

// anonymous reports whether a call of errors.New or fmt.Errorf makes an error that wraps no other error.
func anonymous(c *ast.CallExpr) bool {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || len(c.Args) == 0 {
		return false
	}
	of, ok := s.X.(*ast.Ident)
	switch {
	case !ok:
		return false
	case of.Name == "errors" && s.Sel.Name == "New":
		return true
	case of.Name == "fmt" && s.Sel.Name == "Errorf":
		format, ok := c.Args[0].(*ast.BasicLit)
		return !ok || !strings.Contains(format.Value, "%w")
	}
	return false
}

// Each type with a text for logs must also have a class, and one function must make the text of a log line.
func TestErrors_OneFunctionMakesTheTextOfALine(t *testing.T) {
	root := filepath.Join("..", "..")
	redacted, described := map[string]string{}, map[string]bool{}
	for _, dir := range []string{"pipeline", "sinks", "handlers", "shardreader", "cmd"} {
		each(t, root, dir, func(path string, fset *token.FileSet, f *ast.File) {
			for _, decl := range f.Decls {
				d, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if d.Recv == nil {
					if strings.EqualFold(d.Name.Name, "LogText") && path != "pipeline/redact/log_text.go" {
						t.Errorf("%s: the text of an error in a log is redact.LogText's to make", fset.Position(d.Pos()))
					}
					continue
				}
				of := filepath.Dir(path) + "." + receiver(d)
				switch d.Name.Name {
				case "Redacted":
					redacted[of] = fset.Position(d.Pos()).String()
				case "Describe":
					described[of] = true
				}
			}
		})
	}
	for of, at := range redacted {
		// These have the class of the wrapped error.
		if !described[of] && !slices.Contains([]string{"pipeline.quarantineError", "pipeline.deniedError"}, of) {
			t.Errorf("%s: %s has a text for logs, and no class: give it Describe", at, of)
		}
	}
}

// receiver returns the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	for typ := d.Recv.List[0].Type; ; {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// each calls see for the Go files below a folder, except tests and silent packages. path is relative to the root.
func each(t *testing.T, root, dir string, see func(path string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, dir), func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path := filepath.ToSlash(strings.TrimPrefix(file, root+string(os.PathSeparator)))
		if e.IsDir() {
			if silent.MatchString(path) || dir == "pipeline" && strings.Contains(path, "/") && !slices.Contains(speaking, path) || dir == "sinks" && slices.Contains([]string{"sinks/aws", "sinks/local", "sinks/policy", "sinks/pushdown", "sinks/sinktest"}, path) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, 0)
		if err == nil {
			see(path, fset, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
