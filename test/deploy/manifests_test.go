package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/cmd/cli"
)

// parses reports whether the command line has the command and its flags.
func parses(t *testing.T, args []string) bool {
	t.Helper()
	var out, err strings.Builder
	return cli.Run(t.Context(), append(slices.Clone(args), "--help"), strings.NewReader(""), &out, &err) == 0
}

// The program has the command of the unit. The unit has the settings that a consumer needs, in the right sections.
func TestUnit(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "tablewake.service"))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^Exec\w+=/usr/local/bin/tablewake (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(commands) != 1 || !strings.HasPrefix(commands[0][0], "ExecStart=") {
		t.Fatalf("commands: %q, want ExecStart alone: RestartPreventExitStatus is about no other", commands)
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

// A wrong configuration ends the command of the unit with an exit code that prevents a restart.
func TestUnit_WrongConfiguration(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "tablewake.service"))
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/tablewake (.*)$`).FindStringSubmatch(string(text))
	final := regexp.MustCompile(`(?m)^RestartPreventExitStatus=(.*)$`).FindStringSubmatch(string(text))
	if command == nil || final == nil {
		t.Fatal("the unit has no ExecStart or no RestartPreventExitStatus")
	}
	wrong := filepath.Join(t.TempDir(), "tablewake.yaml")
	if err := os.WriteFile(wrong, []byte("version: 1\nname: x\nsourse: {table: shop}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := strings.Fields(strings.ReplaceAll(command[1], "/etc/tablewake/tablewake.yaml", wrong))
	var out, errs strings.Builder
	code := cli.Run(t.Context(), args, strings.NewReader(""), &out, &errs)
	if !slices.Contains(strings.Fields(final[1]), strconv.Itoa(code)) || !strings.Contains(errs.String(), "sourse") {
		t.Errorf("it ends with %d, and restarts: %s", code, errs.String())
	}
}

// podContainer has the fields of a container that the test reads.
type podContainer struct {
	Image string
	Args  []string
}

// The consumer of the manifest uses flags and probes of the program. A digest fixes its image.
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
