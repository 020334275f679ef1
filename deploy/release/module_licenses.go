package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// module is a Go module in a program. The standard library is the module std.
type module struct {
	path, version, sum string
	licenses           []string // SPDX names
	texts              []licenseFile
}

type licenseFile struct{ name, text string }

// modulesOf returns the modules in the program's build information and the standard library, sorted by path.
func (t target) modulesOf(ctx context.Context, root string, info *debug.BuildInfo) ([]module, error) {
	dirs, err := t.folders(ctx, root)
	if err != nil {
		return nil, err
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	std, err := readLicenses("std", strings.TrimPrefix(info.GoVersion, "go"), "", strings.TrimSpace(string(goroot)))
	if err != nil {
		return nil, err
	}
	used := []module{std}
	for _, dep := range info.Deps {
		dep = cmp.Or(dep.Replace, dep)
		dir := dirs[dep.Path+"@"+dep.Version]
		if dir == "" {
			return nil, fmt.Errorf("the module %s@%s is not on this machine", dep.Path, dep.Version)
		}
		mod, err := readLicenses(dep.Path, dep.Version, dep.Sum, dir)
		if err != nil {
			return nil, err
		}
		used = append(used, mod)
	}
	slices.SortFunc(used, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return used, nil
}

// folders returns the folders of the program's modules on this machine. The keys are path@version. folders lists
// packages, because a list of all modules would need checksums of modules that the program does not use.
func (t target) folders(ctx context.Context, root string) (map[string]string, error) {
	const moduleAndFolder = "{{with .Module}}{{with or .Replace .}}{{.Path}}@{{.Version}} {{.Dir}}{{end}}{{end}}"
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-tags", t.tags, "-f", moduleAndFolder, t.pkg)
	cmd.Dir, cmd.Env = root, t.environment()
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		mod, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		dirs[mod] = dir
	}
	return dirs, nil
}

// readLicenses returns a module with the licences in its folder. A module without a known licence is an error, because
// it may not be redistributed.
func readLicenses(path, version, sum, dir string) (module, error) {
	mod := module{path: path, version: version, sum: sum}
	files, err := os.ReadDir(dir)
	if err != nil {
		return mod, err
	}
	for _, f := range files {
		startsName := func(prefix string) bool { return strings.HasPrefix(strings.ToUpper(f.Name()), prefix) }
		if f.IsDir() || !slices.ContainsFunc([]string{"LICEN", "COPYING", "NOTICE"}, startsName) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return mod, err
		}
		mod.texts = append(mod.texts, licenseFile{f.Name(), string(text)})
		for _, match := range licensecheck.Scan(text).Match {
			if !match.IsURL && !slices.Contains(mod.licenses, match.ID) {
				mod.licenses = append(mod.licenses, match.ID)
			}
		}
	}
	slices.Sort(mod.licenses)
	if len(mod.licenses) == 0 {
		return mod, fmt.Errorf("the module %s has no licence that is known: look into %s", path, dir)
	}
	return mod, nil
}

// licenseTexts returns the texts of all licences, one after the other. The licences require that a program is passed on
// with these texts.
func licenseTexts(used []module) []byte {
	var b bytes.Buffer
	for _, m := range used {
		for _, text := range m.texts {
			fmt.Fprintf(&b, "%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 80), m.path, m.version, text.name,
				strings.TrimSpace(text.text))
		}
	}
	return b.Bytes()
}
