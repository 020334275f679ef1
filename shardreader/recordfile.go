package shardreader

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// RecordFile records a stream into a file, which appears, whole, when the
// recording has succeeded. See [Record].
func RecordFile(ctx context.Context, path string, o RecordOptions) (Recording, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return Recording{}, fmt.Errorf("record into %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // fails once it is renamed, as it should
	w := bufio.NewWriterSize(f, 1<<20)
	recording, err := Record(ctx, w, o)
	if err != nil {
		return recording, errors.Join(err, f.Close())
	}
	if err := errors.Join(w.Flush(), f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return recording, fmt.Errorf("record into %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return recording, fmt.Errorf("record into %s: %w", path, err)
	}
	return recording, nil
}
