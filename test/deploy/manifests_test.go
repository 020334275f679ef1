package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/cmd/cli"
)

// parses reports whether the command line knows the command and its flags.
func parses(t *testing.T, args []string) bool {
	t.Helper()
	var out, err strings.Builder
	return cli.Run(t.Context(), append(slices.Clone(args), "--help"), strings.NewReader(""), &out, &err) == 0
}

// The command lines of the unit are those of the program, and it ends as a consumer needs.
func TestUnit(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "tablewake.service"))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^Exec\w+=/usr/local/bin/tablewake (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(commands) != 2 {
		t.Fatalf("commands: %q", commands)
	}
	for _, c := range commands {
		if !parses(t, strings.Fields(c[1])) {
			t.Errorf("the program does not know %s", c[1])
		}
	}
	section := ""
	known := map[string]string{"User": "Service", "TimeoutStopSec": "Service", "Restart": "Service", "WantedBy": "Install", "After": "Unit"}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		name, _, isSetting := strings.Cut(line, "=")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		case !isSetting:
			t.Errorf("no setting: %s", line)
		case known[name] != "" && known[name] != section:
			t.Errorf("%s is in [%s]", name, section)
		}
		delete(known, name)
	}
	if len(known) > 0 {
		t.Errorf("the unit lacks %v", known)
	}
}

// podContainer is what the test reads of a container.
type podContainer struct {
	Image string
	Args  []string
}

// The consumer of the manifest has the program's flags and probes, and its image is one for ever.
func TestKubernetes(t *testing.T) {
	file := filepath.Join(root, "deploy", "kubernetes.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, part := range strings.Split(string(text), "\n---\n") {
		var d struct {
			Kind string
			Spec struct {
				Template struct {
					Spec struct{ Containers []podContainer }
				}
			}
		}
		if err := yaml.Unmarshal([]byte(part), &d); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, d.Kind)
		for _, c := range d.Spec.Template.Spec.Containers {
			if !parses(t, c.Args) {
				t.Errorf("the program does not know %q", c.Args)
			}
			if !strings.Contains(c.Image, "@sha256:") {
				t.Errorf("the image %s can become another", c.Image)
			}
		}
	}
	if !slices.Equal(kinds, []string{"ServiceAccount", "Deployment", "PodDisruptionBudget"}) {
		t.Errorf("the manifest has %q", kinds)
	}
	for _, want := range []string{"path: /livez", "path: /readyz", "terminationGracePeriodSeconds: 120", "readOnlyRootFilesystem: true"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the manifest lacks %s", want)
		}
	}
}
