package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guides lists patterns of the documents whose paths, names and links are checked.
var guides = []string{"README.md", "DESIGN.md", "SECURITY.md", "CONTRIBUTING.md", "cmd/tablewake/guide/*.md", "cmd/internal/configtest/README.md",
	"deploy/README.md", "pipeline/CONTRACT.md", "pipeline/config/README.md", "pipeline/telemetry/METRICS.md", "sinks/STORAGE.md", "test/FACTS.md", "test/bench/README.md"}

// TestGuides_NameWhatThereIs checks that each file, folder and name of the code that a guide names exists.
func TestGuides_NameWhatThereIs(t *testing.T) {
	tree := newTree(t)
	for _, pattern := range guides {
		files, err := filepath.Glob(filepath.Join(tree.root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("there is no %s (%v)", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimPrefix(file, tree.root+"/")
			for _, wrong := range tree.check(path.Dir(name), string(text)) {
				t.Errorf("%s:%s: correct the guide", name, wrong)
			}
		}
	}
}

// TestGuides_AWrongNameIsFound checks the check.
func TestGuides_AWrongNameIsFound(t *testing.T) {
	tree := newTree(t)
	for _, right := range []string{
		"`pipeline`", "`sinks/view/`", "`pipeline/item/attribute_path.go`", "`pipeline.New`", "`pipeline.Pipeline.Run`", "`pipeline.Options.Routes`", "`pipeline.Sink.Write`",
		"`pipeline/internal/ddbjson/scan*.go`", "`test/house.guides`", "`sinks/NAME/DRIVER`", "`go test ./nowhere/...`", "`leases.Nothing`", "[x](README.md)", "[x](README.md#install)",
		"[x](https://example.com/nothing)", "[x](pipeline/config/README.md#reading-a-view)", "```\n`pipeline/nothing.go`\n```",
	} {
		if wrong := tree.check(".", right); len(wrong) > 0 {
			t.Errorf("%s is refused: %s", right, wrong)
		}
	}
	for _, wrong := range []string{
		"`pipeline/nothing.go`", "`nothing/x`x `pipeline.Nothing`", "`pipeline.Pipeline.Nothing`", "`pipeline.Pipeline.Run.x`", "`sinks/nothing.New`", "`sinks/nothing/`",
		"`pipeline/nothing*.go`", "[x](NOTHING.md)", "[x](README.md#nothing)", "[x](#nothing)",
	} {
		if len(tree.check(".", wrong)) == 0 {
			t.Errorf("%s passes", wrong)
		}
	}
}

// tree looks up what the guides name.
type tree struct {
	root    string
	tracked []string
	names   map[string]map[string]bool // of each folder that was parsed
}

func newTree(t *testing.T) *tree {
	return &tree{root: root(t), tracked: tracked(t), names: make(map[string]map[string]bool)}
}

var (
	fenced   = regexp.MustCompile("(?ms)^```.*?^```")
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	inTree   = regexp.MustCompile(`^(\.ci|cmd|deploy|handlers|pipeline|shardreader|sinks|test)([./][\w./~*-]*)?$`)
	example  = regexp.MustCompile(`(^|/)[A-Z]+(/|$)`) // a placeholder in a path
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// check returns the names in a text of a folder that do not exist, each with its line.
func (tr *tree) check(folder, text string) (wrong []string) {
	text = fenced.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
	for i, line := range strings.Split(text, "\n") {
		for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
			if inTree.MatchString(m[1]) && !tr.has(m[1]) {
				wrong = append(wrong, fmt.Sprintf("%d: there is no %s", i+1, m[1]))
			}
		}
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			if !strings.Contains(m[1], "://") && !tr.leads(folder, m[1], text) {
				wrong = append(wrong, fmt.Sprintf("%d: the link %s leads nowhere", i+1, m[1]))
			}
		}
	}
	return wrong
}

// has reports whether a path, a pattern of paths, or FOLDER.NAME or FOLDER.TYPE.NAME exists.
func (tr *tree) has(name string) bool {
	if example.MatchString(name) || strings.Contains(name, ".*.") { // sinks.*.view is a key of the configuration
		return true
	}
	if strings.Contains(name, "*") {
		found, err := filepath.Glob(filepath.Join(tr.root, name))
		return err == nil && len(found) > 0
	}
	if tr.exists(name) {
		return true
	}
	dir, last := path.Split(name)
	folder, in, ok := strings.Cut(last, ".")
	return ok && tr.declared(dir + folder)[in]
}

// exists reports whether there is a file with this name, or a file in a folder with this name, that git knows or
// would add.
func (tr *tree) exists(name string) bool {
	name = strings.TrimSuffix(name, "/")
	for _, f := range tr.tracked {
		if f == name || strings.HasPrefix(f, name+"/") {
			return true
		}
	}
	return false
}

// declared returns the names of a folder's packages: NAME, and TYPE.NAME of methods and fields.
func (tr *tree) declared(folder string) map[string]bool {
	if names, ok := tr.names[folder]; ok {
		return names
	}
	names := make(map[string]bool)
	tr.names[folder] = names
	files, _ := filepath.Glob(filepath.Join(tr.root, folder, "*.go")) // the pattern is valid
	for _, f := range files {
		file, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler reports the error
		}
		for _, d := range file.Decls {
			addDeclared(names, d)
		}
	}
	return names
}

func addDeclared(names map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names[d.Name.Name] = true
		} else {
			names[receiver(d)+"."+d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			case *ast.TypeSpec:
				names[s.Name.Name] = true
				addMembers(names, s)
			}
		}
	}
}

// addMembers adds the fields of a struct, or the methods of an interface.
func addMembers(names map[string]bool, s *ast.TypeSpec) {
	var members *ast.FieldList
	switch typ := s.Type.(type) {
	case *ast.StructType:
		members = typ.Fields
	case *ast.InterfaceType:
		members = typ.Methods
	default:
		return
	}
	for _, m := range members.List {
		for _, n := range m.Names {
			names[s.Name.Name+"."+n.Name] = true
		}
	}
}

var (
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	anchor  = regexp.MustCompile(`<a name="([^"]+)">`)
	unslug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// leads reports whether a link of a document in a folder leads to a file, and to a heading or an anchor of it.
func (tr *tree) leads(folder, target, own string) bool {
	file, at, anchored := strings.Cut(target, "#")
	if file != "" {
		file = path.Join(folder, file)
		if !tr.exists(file) {
			return false
		}
	}
	if !anchored {
		return true
	}
	if file != "" {
		text, err := os.ReadFile(filepath.Join(tr.root, file))
		if err != nil {
			return false
		}
		own = string(text)
	}
	for _, m := range heading.FindAllStringSubmatch(own, -1) {
		if strings.ReplaceAll(unslug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-") == at {
			return true
		}
	}
	for _, m := range anchor.FindAllStringSubmatch(own, -1) {
		if m[1] == at {
			return true
		}
	}
	return false
}
