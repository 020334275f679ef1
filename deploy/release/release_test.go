package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tablewake/tablewake/test/server"
)

// made is a release for Linux, made once: other systems' programs are made by the same
// code, and compiling for them would take minutes.
var made = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tablewake-release-test-")
	if err != nil {
		return "", err
	}
	// In a process of its own: the race detector makes compressing ten times as slow.
	cmd := exec.CommandContext(context.Background(), "go", "run", ".", "-version", "v0.0.1-test", "-only", "linux", "-out", dir)
	if said, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("go run ./deploy/release: %w\n%s", err, said)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := made(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

func released(t *testing.T) string {
	t.Helper()
	dir, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestARelease(t *testing.T) {
	dir := released(t)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	want := []string{"checksums.txt", provenanceFile}
	for _, name := range []string{"tablewake-lambda_v0.0.1-test_linux_amd64", "tablewake-lambda_v0.0.1-test_linux_arm64", "tablewake_v0.0.1-test_linux_amd64", "tablewake_v0.0.1-test_linux_arm64"} {
		archive := ".tar.gz"
		if strings.Contains(name, "lambda") {
			archive = ".zip"
		}
		want = append(want, name+".cdx.json", name+archive)
	}
	if slices.Sort(want); !slices.Equal(names, want) {
		t.Errorf("made\n%s, want\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "-c", "--strict", "checksums.txt")
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != len(want)-1 {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
}

// The statement names each file with its digest, and the version that was asked for.
func TestProvenance(t *testing.T) {
	dir := released(t)
	text, err := os.ReadFile(filepath.Join(dir, provenanceFile))
	if err != nil {
		t.Fatal(err)
	}
	var s statement
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range s.Subject {
		if line := of.Digest["sha256"] + "  " + of.Name + "\n"; !strings.Contains(string(sums), line) {
			t.Errorf("checksums.txt has no line %s", line)
		}
	}
	if files := strings.Count(string(sums), "\n"); len(s.Subject) != files-1 { // without its own
		t.Errorf("%d subjects, and %d files", len(s.Subject), files)
	}
	if v := s.Predicate.BuildDefinition.ExternalParameters["version"]; v != "v0.0.1-test" {
		t.Errorf("the version is %q", v)
	}
	if s.Predicate.RunDetails.Builder.Version["go"] == "" || s.PredicateType != "https://slsa.dev/provenance/v1" {
		t.Errorf("the statement is\n%s", text)
	}
}

// Lambda gets an executable program at the top, beside its configuration.
func TestTheBootstrapsArchive(t *testing.T) {
	for arch, name := range map[string]string{"arm64": "[arm64]", "amd64": "[x86_64]"} {
		z, err := zip.OpenReader(filepath.Join(released(t), "tablewake-lambda_v0.0.1-test_linux_"+arch+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		modes := map[string]fs.FileMode{}
		for _, f := range z.File {
			modes[f.Name] = f.Mode()
		}
		want := map[string]fs.FileMode{"bootstrap": 0o755, "tablewake.yaml": 0o644, "template.yaml": 0o644, "LICENSE": 0o644, "LICENSES-OF-DEPENDENCIES": 0o644}
		if fmt.Sprint(modes) != fmt.Sprint(want) {
			t.Errorf("%s: the archive holds %v, want %v", arch, modes, want)
		}
		template, err := fs.ReadFile(z, "template.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(template, []byte("\n")); lines >= 20 || !bytes.Contains(template, []byte("Architectures: "+name)) {
			t.Errorf("%s: the template has %d lines, and is not for %s\n%s", arch, lines, name, template)
		}
		info := infoOf(t, z, "bootstrap")
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if settings["GOARCH"] != arch || settings["GOOS"] != "linux" || settings["CGO_ENABLED"] != "0" || settings["-tags"] != "lambda.norpc,grpcnotrace" || settings["-trimpath"] != "true" {
			t.Errorf("%s: built with %v", arch, settings)
		}
	}
}

// infoOf returns what a program in an archive reports of itself.
func infoOf(t *testing.T, z fs.FS, name string) *buildinfo.BuildInfo {
	t.Helper()
	b, err := fs.ReadFile(z, name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// The bill names what is in the program, each with a licence, and the program itself.
func TestABillOfMaterials(t *testing.T) {
	stem := filepath.Join(released(t), "tablewake-lambda_v0.0.1-test_linux_arm64")
	f, err := os.Open(stem + ".cdx.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(stem + ".zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	info := infoOf(t, z, "bootstrap")
	want := []string{"std@" + strings.TrimPrefix(info.GoVersion, "go")}
	for _, dep := range info.Deps {
		want = append(want, dep.Path+"@"+dep.Version)
	}
	texts, err := fs.ReadFile(z, "LICENSES-OF-DEPENDENCIES")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range *bom.Components {
		got = append(got, c.Name+"@"+c.Version)
		if c.Licenses == nil || len(*c.Licenses) == 0 || (*c.Licenses)[0].License.ID == "" {
			t.Errorf("%s has no licence", c.Name)
		}
		if !bytes.Contains(texts, []byte("\n"+c.Name+" "+c.Version+": ")) {
			t.Errorf("the text of the licence of %s is not passed on", c.Name)
		}
		if c.Name == "modernc.org/sqlite" {
			t.Errorf("the bootstrap holds %s", c.Name)
		}
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the bill names\n%s, and the program holds\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	program, err := fs.ReadFile(z, "bootstrap")
	if err != nil {
		t.Fatal(err)
	}
	if is, sum := (*bom.Metadata.Component.Hashes)[0].Value, fmt.Sprintf("%x", sha256.Sum256(program)); is != sum {
		t.Errorf("the bill is of the program %s, and the archive holds %s", is, sum)
	}
	if bom.Metadata.Component.Version != "v0.0.1-test" || bom.SpecVersion != cdx.SpecVersion1_6 {
		t.Errorf("version %s in CycloneDX %v", bom.Metadata.Component.Version, bom.SpecVersion)
	}
}

// Another clone, in another folder, under another environment, makes the same bytes.
func TestTheSameTreeMakesTheSameBytes(t *testing.T) {
	clone := filepath.Join(t.TempDir(), "elsewhere")
	copyTree(t, clone)
	again := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./deploy/release", "-version", "v0.0.1-test", "-only", "tablewake-lambda", "-out", again)
	cmd.Dir = clone
	cmd.Env = append(os.Environ(), "GOFLAGS=-tags=another", "GOAMD64=v2", "TZ=Asia/Tokyo", "LC_ALL=C")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	compared := 0
	files, err := os.ReadDir(again)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == "checksums.txt" || f.Name() == provenanceFile {
			continue // of fewer files, and the copy has no commit
		}
		a, errA := os.ReadFile(filepath.Join(released(t), f.Name()))
		b, errB := os.ReadFile(filepath.Join(again, f.Name()))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs (%v, %v)", f.Name(), errA, errB)
		}
		compared++
	}
	if compared != 4 {
		t.Errorf("%d files compared, want 4", compared)
	}
}

// copyTree copies what git knows or would add, as it stands, without git's own folder.
func copyTree(t *testing.T, to string) {
	t.Helper()
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(out)) {
		b, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWrongArguments(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"-h":                  {0, "go run ./deploy/release -version v1.2.3"},
		"-such":               {2, "flag provided but not defined: -such"},
		"dist":                {2, `unexpected argument "dist"`},
		"-version a;b":        {2, "letters, digits"},
		"-only windows_arm64": {1, `no archive's name contains "windows_arm64"`},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), &out, &out); code != want.code || !strings.Contains(out.String(), want.says) {
			t.Errorf("%s: exit code %d, want %d\n%s", args, code, want.code, out.String())
		}
	}
}

// The bills are as CycloneDX's own schema says, with SPDX's names of licences; checkov brings both.
func TestBillsAreAsTheSchemaSays(t *testing.T) {
	checkov, err := server.PyTool(t.Context(), "checkov")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(filepath.Join(filepath.Dir(checkov), "..", "lib", "python3*", "site-packages", "cyclonedx", "schema", "_res"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("%d folders of schemas beside checkov, %v", len(folders), err)
	}
	c := jsonschema.NewCompiler()
	for _, name := range []string{"bom-1.6", "spdx", "jsf-0.82"} {
		schema := decoded(t, filepath.Join(folders[0], name+".SNAPSHOT.schema.json"))
		if err := c.AddResource("http://cyclonedx.org/schema/"+name+".SNAPSHOT.schema.json", schema); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.SNAPSHOT.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	bills, err := filepath.Glob(filepath.Join(released(t), "*.cdx.json"))
	if err != nil || len(bills) != 4 {
		t.Fatalf("%d bills, %v", len(bills), err)
	}
	for _, bill := range bills {
		if err := schema.Validate(decoded(t, bill)); err != nil {
			t.Errorf("%s: %v", bill, err)
		}
	}
	wrong := decoded(t, bills[0]).(map[string]any)
	wrong["specVersion"] = 1.6
	if schema.Validate(wrong) == nil {
		t.Error("the schema passes a version that is not a text")
	}
}

func decoded(t *testing.T, file string) any {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
