package deploy

import (
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/test/server"
)

// starter has fewer than twenty lines for a first look, with no place for what checkov demands of a service.
const starter = "deploy/minimal/template.yaml"

// samTemplates are the templates that SAM turns into CloudFormation, by their paths in the tree.
var samTemplates = []string{starter, "template.yaml", "cmd/internal/template/testdata/shop.template.yaml"}

// stacks are plain CloudFormation templates.
var stacks = []string{"deploy/ecs.yaml", "cmd/internal/template/testdata/shop.storage.yaml"}

func TestStacks(t *testing.T) {
	t.Parallel()
	lint(t, stacks...)
	scan(t, stacks...)
}

// SAM's own check does not find wrong values under Events. So the output that SAM makes of a template is checked too,
// with the rules for each resource in it.
func TestSAMTemplates(t *testing.T) {
	t.Parallel()
	var made, scanned []string
	for _, file := range samTemplates {
		text := ""
		t.Run(file, func(t *testing.T) {
			if out, err := tool(t, "sam", "validate", "--lint", "-t", file, "--region", server.Region); err != nil {
				t.Errorf("sam validate --lint: %v\n%s", err, out)
			}
			text = expanded(t, file)
		})
		if text == "" { // the test failed, or was not selected
			continue
		}
		made = append(made, written(t, text))
		if file != starter {
			scanned = append(scanned, file, made[len(made)-1])
		}
	}
	if len(made) > 0 {
		lint(t, made...)
	}
	if len(scanned) > 0 {
		scan(t, scanned...)
	}
}

// leanest is the most bytes of a bootstrap that is built with the flags in README. Without these flags it has twice as
// many.
const leanest = 40 << 20

// SAM builds the repository's own template from its sources, without a network.
func TestTheTreesTemplateIsBuilt(t *testing.T) {
	t.Parallel()
	if out, err := run(t, exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/lambda")); err != nil { // on a new machine this downloads the modules
		t.Fatalf("%v\n%s", err, out)
	}
	dir := t.TempDir()
	out, err := tool(t, "sam", "build", "-t", "template.yaml", "--build-dir", dir)
	if err != nil {
		t.Fatalf("sam build: %v\n%s", err, out)
	}
	if n := strings.Count(out, "Running GoModulesBuilder:Build"); n != 1 {
		t.Errorf("sam build builds the program %d times, want 1:\n%s", n, out)
	}
	for _, function := range []string{"Function", "Redrive", "Audit"} {
		path := filepath.Join(dir, function, "bootstrap")
		about, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if about.Size() > leanest {
			t.Errorf("%s has %d bytes, built as README says; want %d at most", function, about.Size(), leanest)
		}
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine != elf.EM_AARCH64 {
			t.Errorf("%s is built for %v, and its Architecture is arm64", function, f.Machine)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// lint checks CloudFormation templates with cfn-lint.
func lint(t *testing.T, files ...string) {
	t.Helper()
	if out, err := tool(t, "cfn-lint", files...); err != nil {
		t.Errorf("cfn-lint %q: %v\n%s", files, err, out)
	}
}

// expanded returns the output that SAM makes of a template.
func expanded(t *testing.T, template string) string {
	t.Helper()
	bin, err := server.PyTool(t.Context(), "sam")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join("testdata", "expand.py"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(bin), "python"), script, template, server.Region)
	out, err := alone(t, cmd)
	if err != nil {
		t.Fatalf("SAM does not expand %s: %v\n%s", template, err, out)
	}
	return out
}

// written writes text into a file in a new folder, and returns the path.
func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// finding is a check of checkov that failed, or that the template says to skip.
type finding struct {
	ID          string `json:"check_id"`
	Name        string `json:"check_name"`
	Resource    string
	File        string `json:"file_abs_path"` // the path that was given to checkov
	CheckResult struct {
		Comment string `json:"suppress_comment"`
	} `json:"check_result"`
}

// findings returns the findings of checkov, which takes six seconds to start.
func findings(t *testing.T, files ...string) (failed, skipped, passed []finding) {
	t.Helper()
	args := slices.Concat([]string{"-f"}, files, []string{"--framework", "cloudformation", "--skip-download", "--compact", "-o", "json"})
	out, err := tool(t, "checkov", args...)
	var report struct {
		Results struct {
			Failed  []finding `json:"failed_checks"`
			Skipped []finding `json:"skipped_checks"`
			Passed  []finding `json:"passed_checks"`
		}
		Summary struct {
			Errors int `json:"parsing_errors"`
		}
	}
	if jsonErr := json.Unmarshal([]byte(out), &report); jsonErr != nil {
		t.Fatalf("checkov %q: %v, %v\n%s", files, err, jsonErr, out)
	}
	if report.Summary.Errors > 0 {
		t.Fatalf("checkov cannot read %d of %q", report.Summary.Errors, files)
	}
	return report.Results.Failed, report.Results.Skipped, report.Results.Passed
}

// scan checks CloudFormation or SAM templates with checkov. A suppressed finding must have a reason.
func scan(t *testing.T, files ...string) {
	t.Helper()
	failed, skipped, passed := findings(t, files...)
	for _, f := range failed {
		t.Errorf("checkov %s: %s: %s (%s)", f.File, f.Resource, f.Name, f.ID)
	}
	for _, f := range skipped {
		if len(strings.Fields(f.CheckResult.Comment)) < 4 {
			t.Errorf("%s: %s is suppressed at %s, and nobody says why", f.File, f.ID, f.Resource)
		}
	}
	for _, file := range files {
		if !slices.ContainsFunc(passed, func(f finding) bool { return f.File == file }) {
			t.Errorf("checkov checked nothing in %s", file)
		}
	}
}
