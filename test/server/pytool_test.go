package server

import (
	"os/exec"
	"strings"
	"testing"
)

func TestEveryPyToolIsOfItsVersion(t *testing.T) {
	for _, tool := range pyTools() {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			bin, err := PyTool(t.Context(), tool.name)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), bin, "--version")
			cmd.Env = append(cmd.Environ(), "SAM_CLI_TELEMETRY=0")
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), tool.version) {
				t.Errorf("%s --version: %v, %s; want %s", tool.name, err, out, tool.version)
			}
		})
	}
}

func TestAToolThatNobodyKnowsIsNotInstalled(t *testing.T) {
	if _, err := PyTool(t.Context(), "pylint"); err == nil {
		t.Error("no error")
	}
}
