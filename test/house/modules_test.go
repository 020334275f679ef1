package house

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every module that go.mod requires directly is imported by the product, or by a test in one of the product's
// packages, because such a test cannot be in a module of its own. CONTRIBUTING.md gives the reason for the module in
// the table of the product or in that of the tests.
func TestModules_EachIsTheProducts(t *testing.T) {
	direct := requirements(t)
	product, tests := importedModules(t, direct)
	of, ofTests := reasons(t)
	for _, m := range direct {
		switch {
		case product[m] && !covered(of, m):
			t.Errorf("go.mod requires %s: CONTRIBUTING.md does not say why, among the modules of the product", m)
		case !product[m] && tests[m] && !covered(ofTests, m):
			t.Errorf("go.mod requires %s, which tests alone import: CONTRIBUTING.md does not say why, among the modules of tests", m)
		case !product[m] && !tests[m]:
			t.Errorf("go.mod requires %s, which no package outside test imports: do without it, or move what does into a module of its own below test", m)
		}
	}
	for _, reason := range of {
		if !slices.ContainsFunc(direct, func(m string) bool { return product[m] && covered([]string{reason}, m) }) {
			t.Errorf("CONTRIBUTING.md gives %s a reason among the modules of the product, which does not import it", reason)
		}
	}
	for _, reason := range ofTests {
		if !slices.ContainsFunc(direct, func(m string) bool { return !product[m] && tests[m] && covered([]string{reason}, m) }) {
			t.Errorf("CONTRIBUTING.md gives %s a reason among the modules of tests, and they alone do not import it", reason)
		}
	}
}

// covered reports whether the reasons include a module, by its path or by a path/... above it.
func covered(reasons []string, module string) bool {
	return slices.ContainsFunc(reasons, func(r string) bool {
		tree, all := strings.CutSuffix(r, "/...")
		return r == module || all && strings.HasPrefix(module+"/", tree+"/")
	})
}

// requirements returns the modules that go.mod requires directly. The modules of tools are required by test/tools.
func requirements(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Tool []struct{ Path string }
	}
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	for _, tool := range file.Tool {
		t.Errorf("go.mod has the tool %s: test/tools/go.mod is for those", tool.Path)
	}
	var direct []string
	for _, r := range file.Require {
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	return direct
}

// importedModules returns the modules that packages outside test import. product has those of the packages
// themselves. tests has those of their tests, including imports of packages below test.
func importedModules(t *testing.T, direct []string) (product, tests map[string]bool) {
	t.Helper()
	product, tests = map[string]bool{}, map[string]bool{}
	kits := map[string][]string{}
	all := list(t, "ImportPath,Imports,TestImports,XTestImports")
	for _, p := range all {
		if strings.HasPrefix(p.ImportPath, module+"/test/") {
			kits[p.ImportPath] = p.Imports
		}
	}
	for _, p := range all {
		if strings.HasPrefix(p.ImportPath, module+"/test/") {
			continue
		}
		into := product
		if strings.Contains(p.ImportPath, "/internal/") && strings.HasSuffix(p.ImportPath, "test") {
			into = tests // a test kit that no other code can import
		}
		for _, imp := range p.Imports {
			into[moduleOf(direct, imp)] = true
		}
		for _, imp := range slices.Concat(p.TestImports, p.XTestImports) {
			for _, imp := range append(kits[imp], imp) {
				tests[moduleOf(direct, imp)] = true
			}
		}
	}
	return product, tests
}

// moduleOf returns the module of a package: the longest module path that is a prefix of the package's path.
func moduleOf(direct []string, imp string) string {
	var of string
	for _, m := range direct {
		if len(m) > len(of) && strings.HasPrefix(imp+"/", m+"/") {
			of = m
		}
	}
	return of
}

var (
	tableRow = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|")
	quoted   = regexp.MustCompile("`([^`]+)`")
)

// reasons returns the modules in the two tables of CONTRIBUTING.md.
func reasons(t *testing.T) (product, tests []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root(t), "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n## Dependencies\n")
	of, ofTests, found := strings.Cut(section, "\n| module of tests |")
	if !found {
		t.Fatal("CONTRIBUTING.md has no table of the modules of tests below Dependencies")
	}
	named := func(text string) (all []string) {
		for _, row := range tableRow.FindAllStringSubmatch(text, -1) {
			for _, name := range quoted.FindAllStringSubmatch(row[1], -1) {
				all = append(all, name[1])
			}
		}
		return all
	}
	return named(of), named(ofTests)
}
