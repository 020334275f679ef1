package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// instruction is an instruction of a Dockerfile, with its lines joined.
type instruction struct{ name, text string }

// dockerfile returns the instructions of deploy/Dockerfile, by stage.
func dockerfile(t *testing.T) (build, image []instruction) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "deploy", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	var all []instruction
	for line := range strings.SplitSeq(strings.ReplaceAll(strings.Join(lines, "\n"), "\\\n", " "), "\n") {
		name, text, _ := strings.Cut(line, " ")
		all = append(all, instruction{name, strings.TrimSpace(text)})
	}
	last := 0
	for i, in := range all {
		if in.name == "FROM" {
			last = i
		}
	}
	return all[:last], all[last:]
}

// the returns the text of the only instruction with this name.
func the(t *testing.T, stage []instruction, name string) string {
	t.Helper()
	i := slices.IndexFunc(stage, func(in instruction) bool { return in.name == name })
	if i < 0 || slices.ContainsFunc(stage[i+1:], func(in instruction) bool { return in.name == name }) {
		t.Fatalf("the Dockerfile's stage has not one %s", name)
	}
	return stage[i].text
}

// list returns the words of an instruction in the form of a list. Such an instruction needs no shell, and the image has
// none.
func list(t *testing.T, text string) []string {
	t.Helper()
	var args []string
	if err := json.Unmarshal([]byte(text[max(0, strings.IndexByte(text, '[')):]), &args); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return args
}

func TestDockerfile(t *testing.T) {
	out, err := tool(t, "hadolint", "deploy/Dockerfile")
	if err != nil {
		t.Errorf("hadolint: %v\n%s", err, out)
	}
}

// The image does not run as root, names the versions of its base images, and starts without a shell, because a shell
// would not pass on SIGTERM.
func TestHadolintAndTheseTestsSeeAWrongDockerfile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ from, to, rule string }{
		"root":          {"USER 65532:65532", "USER root", "DL3002"},
		"latest":        {"golang:1.26.8-bookworm", "golang:latest", "DL3007"},
		"a shell":       {`ENTRYPOINT ["/tablewake"]`, "ENTRYPOINT /tablewake", "DL3025"},
		"a stray stage": {"--from=build /image/", "--from=builder /image/", "DL3022"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := strings.Replace(string(text), tt.from, tt.to, 1)
			file := filepath.Join(t.TempDir(), "Dockerfile")
			if err := os.WriteFile(file, []byte(wrong), 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := tool(t, "hadolint", file)
			if err == nil || !strings.Contains(out, tt.rule) {
				t.Errorf("hadolint finds no %s: %v\n%s", tt.rule, err, out)
			}
		})
	}
}
