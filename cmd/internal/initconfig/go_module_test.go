package initconfig

import (
	"bytes"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
)

const checkout = "../../.."

// The module that init writes builds, and its commands run the configuration and the example.
func TestModule(t *testing.T) {
	dir := newModule(t, "v1.2.3")
	root, err := filepath.Abs(checkout)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(dir, "go.mod")); !strings.Contains(got, "require "+tablewakeModule+" v1.2.3\n") {
		t.Errorf("go.mod is\n%s", got)
	}
	// The lines that `go mod tidy` would add keep the go command from reading go.mod files that this module does not need.
	// These files may be missing in the module cache.
	_, requires, _ := strings.Cut(read(t, filepath.Join(root, "go.mod")), "\nrequire (")
	for name, text := range map[string]string{
		"go.mod": read(t, filepath.Join(dir, "go.mod")) + "\nrequire (" + requires,
		"go.sum": read(t, filepath.Join(root, "go.sum")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(program string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("go", "mod", "edit", "-replace="+tablewakeModule+"="+root)
	run("go", "build", "-mod=mod", "-o", filepath.Join(dir, "function", "bootstrap"), "./function")
	program := filepath.Join(dir, "program")
	run("go", "build", "-mod=mod", "-o", program, ".")
	command := func(line string) string { return run(program, strings.Fields(line)...) }
	if got := command("validate -c hotel.yaml"); !strings.Contains(got, "is valid: pipeline hotel, 2 sinks") {
		t.Errorf("validate says\n%s", got)
	}
	if got := command("replay -c hotel.yaml --local out stream.jsonl"); !strings.Contains(got, "held back: changes;") {
		t.Errorf("replay says\n%s", got)
	}
	got := command("replay -c hotel.yaml --local out2 --custom changes stream.jsonl")
	if !strings.Contains(got, "INFO change op=INSERT key=HOTEL") {
		t.Errorf("replay with the sink says\n%s", got)
	}
	for _, name := range []string{"main.go", "extensions/extensions.go", "function/main.go"} {
		text := read(t, filepath.Join(dir, name))
		if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
			t.Errorf("%s is not formatted: %v", name, err)
		}
	}
}

// If the program has no version of a release, init writes no requirement.
func TestModule_UnknownVersion(t *testing.T) {
	for _, version := range []string{"(devel)", "dev", "v1.2.3+dirty", ""} {
		got := read(t, filepath.Join(newModule(t, version), "go.mod"))
		if strings.Contains(got, "\nrequire") || !strings.Contains(got, "go get "+tablewakeModule+"@VERSION") {
			t.Errorf("%s: go.mod is\n%s", version, got)
		}
	}
}

// The module has the Go version of this repository. Its image is built like the image of deploy.
func TestModule_SameVersions(t *testing.T) {
	dir := newModule(t, "v1.2.3")
	for of, line := range map[string]string{
		"go.mod":     `(?m)^go .*$`,
		"Dockerfile": `(?m)^(FROM|USER|VOLUME|CMD|HEALTHCHECK) .*$`,
	} {
		theirs := filepath.Join(checkout, of)
		if of == "Dockerfile" {
			theirs = filepath.Join(checkout, "deploy", of)
		}
		lines := regexp.MustCompile(line)
		want, got := lines.FindAllString(read(t, theirs), -1), lines.FindAllString(read(t, filepath.Join(dir, of)), -1)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s has\n%s\nwant\n%s", of, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// init overwrites no file of a module. If a file is there, init writes no other file either.
func TestModule_Refuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ module, out, want string }{
		{"example.com/hotel", filepath.Join(dir, "hotel.yaml"), "Dockerfile is there already, and init overwrites nothing: name a file in another"},
		{"example.com/hotel", "-", "name its file with --out"},
		{"example.com//hotel", filepath.Join(dir, "hotel.yaml"), "is not a path of a Go module"},
		{"../hotel", filepath.Join(dir, "hotel.yaml"), "is not a path of a Go module"},
	} {
		o := options{sample: []string{writeSample(t)}, keys: []string{"PK"}, modulePath: tt.module, out: tt.out}
		err := o.run(t.Context(), cli.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
		if cli.ExitCode(err) != cli.ExitUsage || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %s: %v, want %s", tt.module, tt.out, err, tt.want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

const hotelRecord = `{"eventSourceARN":` +
	`"arn:aws:dynamodb:eu-central-1:123456789012:table/hotel/stream/2026-01-02T03:04:05.678","eventName":"INSERT",` +
	`"dynamodb":{"SequenceNumber":"101","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"HOTEL#rome"}},` +
	`"NewImage":{"PK":{"S":"HOTEL#rome"},"State":{"S":"open"},"Email":{"S":"a@example.com"}}}}` + "\n"

func writeSample(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "stream.jsonl")
	if err := os.WriteFile(file, []byte(hotelRecord), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// newModule runs init of a program with this version. It returns the folder of the module, which also has the sample.
func newModule(t *testing.T, version string) string {
	t.Helper()
	sample := writeSample(t)
	dir := filepath.Dir(sample)
	o := options{sample: []string{sample}, out: filepath.Join(dir, "hotel.yaml")}
	o.modulePath, o.version = "example.com/hotel", version
	var out bytes.Buffer
	if err := o.run(t.Context(), cli.Streams{Out: &out, Err: &out}); err != nil {
		t.Fatal(err)
	}
	if knows := !strings.Contains(out.String(), "does not know its version"); knows != (version == "v1.2.3") {
		t.Errorf("version %s: init says\n%s", version, &out)
	}
	check(t, read(t, o.out), sample)
	return dir
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
