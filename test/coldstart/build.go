package main

import (
	"archive/zip"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// built has the sizes of a bootstrap, in bytes.
type built struct{ bytes, zipped float64 }

// build builds the bootstrap into a folder, with the flags of a release.
func build(ctx context.Context, dir, arch string) (b built, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return b, err
	}
	path := filepath.Join(dir, "bootstrap")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "lambda.norpc,grpcnotrace", "-trimpath", "-ldflags", "-s -w", "-o", path, "./cmd/lambda")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return b, fmt.Errorf("go build ./cmd/lambda (from the module's folder): %w\n%s", err, out)
	}
	f, err := os.Open(path)
	if err != nil {
		return b, err
	}
	defer f.Close()
	var size counter
	z := zip.NewWriter(&size)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	w, err := z.Create("bootstrap")
	if err != nil {
		return b, err
	}
	n, err := io.Copy(w, f)
	if err == nil {
		err = z.Close()
	}
	return built{float64(n), float64(size)}, err
}

// counter counts the bytes that are written.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
