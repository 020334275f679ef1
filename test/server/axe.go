package server

import (
	"context"
	"fmt"
	"path/filepath"
)

// axeVersion is the version of a Python package that contains axe-core 4.12.1. Without its dependencies it contains
// little else.
const axeVersion = "0.1.8"

// Axe returns the path of the script of axe-core, which finds accessibility problems in a page. The first call on a
// machine installs it, as [PyTool] does.
func Axe(ctx context.Context) (script string, err error) {
	check := func() error { return checkTools(python()) }
	dir, err := installOnce("axe-"+axeVersion, check, func(dir string) error {
		return pipInstall(ctx, dir, "--no-deps", "axe-playwright-python=="+axeVersion)
	})
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(dir, "venv", "lib", "python*", "site-packages", "axe_playwright_python", "axe.min.js"))
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%s has %d scripts axe.min.js, want 1", dir, len(found))
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}
