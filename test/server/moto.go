package server

import (
	"context"
	"os/exec"
	"path/filepath"
)

const motoVersion = "5.2.5"

// Moto returns the kind of moto's server: S3 with storage classes, tags and lifecycles, but without checks of
// checksums and signatures; SNS; and EventBridge. It keeps everything in memory.
func Moto() *Kind {
	return &Kind{
		Name:   "moto",
		Env:    "TABLEWAKE_TEST_MOTO",
		folder: "moto-" + motoVersion,
		tools:  []tool{python()},
		install: func(ctx context.Context, dir string) error {
			return pipInstall(ctx, dir, "moto[server]=="+motoVersion)
		},
		command: func(dir, _, port string, settings []string) *exec.Cmd {
			return exec.Command(filepath.Join(dir, "venv", "bin", "moto_server"), append([]string{"-H", "127.0.0.1", "-p", port}, settings...)...)
		},
		ready: func(ctx context.Context, endpoint string) error { return healthy(ctx, endpoint+"/moto-api/data.json") },
	}
}
