package shardreader

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tablewake/tablewake/pipeline/private"
)

// RecordFile records a stream into a file. The file appears only after the whole recording has succeeded. If path ends
// with .gz or .zst, the file is compressed; Recording.Bytes counts the bytes before compression. See [Record].
func RecordFile(ctx context.Context, path string, o RecordOptions) (Recording, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return Recording{}, fmt.Errorf("record into %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // fails after the rename, which is intended
	disk := bufio.NewWriterSize(f, 1<<20)
	w, err := compressor(disk, path)
	if err != nil {
		return Recording{}, errors.Join(fmt.Errorf("record into %s: %w", path, err), f.Close())
	}
	recording, err := Record(ctx, w, o)
	if err != nil {
		return recording, errors.Join(err, w.Close(), f.Close())
	}
	if err := errors.Join(w.Close(), disk.Flush(), private.CopyMode(f, path), f.Sync(), f.Close()); err != nil {
		return recording, fmt.Errorf("record into %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return recording, fmt.Errorf("record into %s: %w", path, err)
	}
	return recording, nil
}

// compressor returns a writer that writes to w. If path ends with .gz or .zst, the writer compresses.
func compressor(w io.Writer, path string) (io.WriteCloser, error) {
	switch filepath.Ext(path) {
	case ".gz":
		return gzip.NewWriter(w), nil
	case ".zst":
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return nopCloser{w}, nil
}

// nopCloser is a writer whose Close does nothing.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
