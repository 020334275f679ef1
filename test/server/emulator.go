package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// samVersion is the version of the package that contains the emulator.
const samVersion = "1.170.0"

// emulator returns the path of Amazon's Runtime Interface Emulator. It stands between the bootstrap of a function and
// its callers, as the service does. It is one file in the wheel of AWS SAM, and nothing else of the wheel is
// installed.
func emulator(ctx context.Context) (program string, err error) {
	arch, ok := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	if !ok {
		return "", fmt.Errorf("AWS has no Lambda emulator for %s", runtime.GOARCH)
	}
	member := "samcli/local/rapid/aws-lambda-rie-" + arch
	check := func() error { return checkTools(python()) }
	dir, err := installOnce("aws-lambda-rie-"+samVersion, check, func(dir string) error {
		work := filepath.Join(dir, "work")
		defer os.RemoveAll(work)
		venv, wheels, files := filepath.Join(work, "venv"), filepath.Join(work, "wheels"), filepath.Join(work, "files")
		if err := runTool(ctx, dir, "python3", "-m", "venv", venv); err != nil { // provides pip
			return err
		}
		if err := runTool(ctx, dir, filepath.Join(venv, "bin", "pip"), "download", "-q", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "-d", wheels, "aws-sam-cli=="+samVersion); err != nil {
			return err
		}
		wheel := filepath.Join(wheels, "aws_sam_cli-"+samVersion+"-py3-none-any.whl")
		if err := runTool(ctx, dir, "python3", "-m", "zipfile", "-e", wheel, files); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(files, member), filepath.Join(dir, "rie")); err != nil {
			return err
		}
		return os.Chmod(filepath.Join(dir, "rie"), 0o755)
	})
	return filepath.Join(dir, "rie"), err
}
