package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const modulePath = "github.com/tablewake/tablewake"

// target is an archive to make. It has a program for a platform, and other files.
type target struct {
	name    string // beginning of the archive's name
	pkg     string // package of the program
	program string // name of the program in the archive
	os      string
	arch    string
	tags    string
}

// targets returns the archives of a release.
func targets() []target {
	var all []target
	for _, arch := range []string{"arm64", "amd64"} {
		all = append(all, target{name: "tablewake-lambda", pkg: "./cmd/lambda", program: "bootstrap", os: "linux", arch: arch,
			tags: "lambda.norpc,grpcnotrace"})
	}
	for _, os := range []string{"linux", "darwin"} {
		for _, arch := range []string{"arm64", "amd64"} {
			all = append(all, target{name: "tablewake", pkg: "./cmd/tablewake", program: "tablewake", os: os, arch: arch})
		}
	}
	return all
}

func (t target) lambda() bool { return t.program == "bootstrap" }

// archiveStem returns the name of the archive without its ending. The bill of materials has the same name with another
// ending.
func (t target) archiveStem(version string) string {
	return fmt.Sprintf("%s_%s_%s_%s", t.name, version, t.os, t.arch)
}

func (t target) archive(version string) string {
	if t.lambda() {
		return t.archiveStem(version) + ".zip"
	}
	return t.archiveStem(version) + ".tar.gz"
}

// make writes the archive and its bill of materials into o.out, and returns their names.
func (t target) make(ctx context.Context, root, work string, o options) ([]string, error) {
	binary := filepath.Join(work, t.os+"_"+t.arch+"_"+t.program)
	if err := t.build(ctx, root, binary, o.version); err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	used, err := t.modulesOf(ctx, root, info)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	entries, err := t.entries(root, content, used)
	if err != nil {
		return nil, err
	}
	archive, bill := t.archive(o.version), t.archiveStem(o.version)+".cdx.json"
	if err := writeArchive(filepath.Join(o.out, archive), entries); err != nil {
		return nil, err
	}
	err = writeBill(filepath.Join(o.out, bill), program{target: t, version: o.version, goVersion: info.GoVersion,
		content: content, modules: used})
	return []string{archive, bill}, err
}

// build builds the program. The result does not depend on the machine, its environment, or the folder of the sources.
func (t target) build(ctx context.Context, root, out, version string) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -buildid= -X github.com/tablewake/tablewake/cmd/cli.version=" + version, "-o", out}
	if t.tags != "" {
		args = append(args, "-tags", t.tags)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, t.pkg)...)
	cmd.Dir, cmd.Env = root, t.environment()
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", cmp.Or(context.Cause(ctx), err), output)
	}
	return nil
}

// environment returns environment variables for the go command. They select the target, and override the machine's
// settings of Go.
func (t target) environment() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=",
		"GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off")
}

// entries returns the files of the archive in their order. binary is the content of the program.
func (t target) entries(root string, binary []byte, used []module) ([]entry, error) {
	entries := []entry{{t.program, 0o755, binary}}
	sources := []string{"LICENSE"}
	if t.lambda() {
		sources = []string{"deploy/minimal/tablewake.yaml", "deploy/minimal/template.yaml", "LICENSE"}
	}
	for _, source := range sources {
		content, err := os.ReadFile(filepath.Join(root, source))
		if err != nil {
			return nil, err
		}
		name := filepath.Base(source)
		if name == "template.yaml" && t.arch == "amd64" {
			content = bytes.Replace(content, []byte("[arm64]"), []byte("[x86_64]"), 1)
		}
		entries = append(entries, entry{name, 0o644, content})
	}
	return append(entries, entry{"LICENSES-OF-DEPENDENCIES", 0o644, licenseTexts(used)}), nil
}
