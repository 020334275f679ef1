package server

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

const versityVersion = "v1.8.0"

// S3 returns the kind of versitygw over a folder. It checks signatures ([AccessKey], [SecretKey]), checksums and
// conditions (412). It keeps no storage class. It stores objects on a file system with user attributes, so it refuses
// a key that is the folder of another key (409).
func S3() *Kind {
	return &Kind{
		Name:   "s3",
		Env:    "TABLEWAKE_TEST_S3",
		folder: "versitygw-" + versityVersion,
		tools:  []tool{golang()},
		install: func(ctx context.Context, dir string) error {
			return runTool(ctx, dir, "env", "GOBIN="+dir, "GOFLAGS=", "GOWORK=off",
				"go", "install", "github.com/versity/versitygw/cmd/versitygw@"+versityVersion)
		},
		command: func(dir, home, port string, settings []string) *exec.Cmd {
			data := filepath.Join(home, "data")
			_ = os.MkdirAll(data, 0o755) // a failure shows in the program's message about the folder
			cmd := exec.Command(filepath.Join(dir, "versitygw"), append(append([]string{"--port", "127.0.0.1:" + port, "--quiet"}, settings...), "posix", data)...)
			cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
			return cmd
		},
		ready: answers, // 403 without a signature
	}
}
