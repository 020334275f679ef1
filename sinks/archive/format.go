package archive

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Format is the format of log objects. It is also the suffix of their names.
type Format string

// The formats of a log.
const (
	JSONLZstd Format = "jsonl.zst" // JSON lines, compressed by zstd
	JSONLGzip Format = "jsonl.gz"  // JSON lines, compressed by gzip
	Parquet   Format = "parquet"   // columns, with images as JSON text; pages are compressed by zstd
)

var formats = []Format{JSONLZstd, JSONLGzip, Parquet}

// suffix returns the suffix of the names of the format's objects.
func (f Format) suffix() string { return "." + string(f) }

// contentType returns the media type of the format's objects.
func (f Format) contentType() string {
	switch f {
	case JSONLGzip:
		return "application/gzip"
	case Parquet:
		return "application/vnd.apache.parquet"
	}
	return "application/zstd"
}

// formatOf returns the format of a log object by its name. The bool is false for other objects.
func formatOf(name string) (Format, bool) {
	for _, f := range formats {
		if strings.HasSuffix(name, f.suffix()) {
			return f, true
		}
	}
	return "", false
}

func isLog(name string) bool {
	_, log := formatOf(name)
	return log
}

// compressor is a reusable compressing writer.
type compressor interface {
	io.WriteCloser
	Reset(io.Writer)
}

// compressorPool keeps idle compressors of one format. A compressor has no goroutines, and its output depends only on
// its input. Its window is small, so that a reader needs little memory to merge many objects.
type compressorPool struct {
	format Format
	pool   sync.Pool
}

func (cs *compressorPool) get(out io.Writer) (compressor, error) {
	c, ok := cs.pool.Get().(compressor)
	switch {
	case ok:
	case cs.format == JSONLGzip:
		c = gzip.NewWriter(nil)
	default:
		var err error
		if c, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(512<<10),
			zstd.WithLowerEncoderMem(true)); err != nil {
			return nil, fmt.Errorf("archive: compress: %w", err)
		}
	}
	c.Reset(out)
	return c, nil
}

func (cs *compressorPool) put(c compressor) { cs.pool.Put(c) }

// decompress returns a reader of the decompressed lines of an object.
func decompress(f Format, r io.Reader) (io.ReadCloser, error) {
	if f == JSONLGzip {
		return gzip.NewReader(r)
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}
