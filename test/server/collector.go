package server

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Collector returns the kind of OpenTelemetry collector v0.162.0, built from test/collector. Its endpoint takes OTLP
// by HTTP. Two settings are required: "grpc=PORT", where it receives OTLP by gRPC, and "file=PATH", a file to which
// it appends each request as a line of OTLP's JSON. It is not in [Kinds]: a test that needs a collector starts its
// own.
func Collector() *Kind {
	return &Kind{
		Name:   "collector",
		folder: "collector-v0.162.0-1", // increase the last number when test/collector changes
		tools:  []tool{golang()},
		install: func(ctx context.Context, dir string) error {
			root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tablewake/tablewake").Output()
			if err != nil {
				return fmt.Errorf("where the tree is: %w", err)
			}
			return runTool(ctx, filepath.Join(strings.TrimSpace(string(root)), "test", "collector"),
				"env", "GOFLAGS=", "GOWORK=off", "go", "build", "-trimpath", "-o", filepath.Join(dir, "collector"), ".")
		},
		command: func(dir, _, port string, settings []string) *exec.Cmd {
			var grpc, file string
			for _, s := range settings {
				if v, ok := strings.CutPrefix(s, "grpc="); ok {
					grpc = v
				}
				if v, ok := strings.CutPrefix(s, "file="); ok {
					file = v
				}
			}
			return exec.Command(filepath.Join(dir, "collector"), "--config=yaml:"+fmt.Sprintf(`
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:%s"}, grpc: {endpoint: "127.0.0.1:%s"}}}}
exporters: {file: {path: %q}}
service: {pipelines: {traces: {receivers: [otlp], exporters: [file]}, metrics: {receivers: [otlp], exporters: [file]}}}
`, port, grpc, file))
		},
		ready: answers, // 405: it accepts only POST
	}
}
