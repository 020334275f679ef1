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

// formatOf returns the format of a log object by its name. ok is false for other objects.
func formatOf(name string) (f Format, ok bool) {
	for _, f := range formats {
		if strings.HasSuffix(name, f.suffix()) {
			return f, true
		}
	}
	return "", false
}

// isLog reports whether a name is that of a log object.
func isLog(name string) bool {
	_, ok := formatOf(name)
	return ok
}

// compressor is a reusable compressing writer.
type compressor interface {
	io.WriteCloser
	Reset(io.Writer)
}

// compressorPool keeps idle compressors of one format. A compressor has no goroutines, and its output depends only on
// its input. Its compression window is small, so that a reader needs little memory to merge many objects.
type compressorPool struct {
	format Format
	pool   sync.Pool
}

// get returns a compressor that writes to out.
func (p *compressorPool) get(out io.Writer) (compressor, error) {
	if c, ok := p.pool.Get().(compressor); ok {
		c.Reset(out)
		return c, nil
	}
	if p.format == JSONLGzip {
		return gzip.NewWriter(out), nil
	}
	z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(512<<10),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("archive: compress: %w", err)
	}
	return z, nil
}

func (p *compressorPool) put(c compressor) { p.pool.Put(c) }
