package inputs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// Decompress returns a reader of the decompressed content of file, and closes file with the reader, or if it fails. It
// recognizes gzip with several members and zstd with several frames by their first bytes, and does not change other
// content. name is the name of the file: if it ends in .gz or .zst, an empty file is an error, because compressed data
// is never empty. A caller that checks the length otherwise passes "". Errors of the decompression name the format and
// say what to do. Errors of file are unchanged.
func Decompress(name string, file io.ReadCloser) (io.ReadCloser, error) {
	raw := &rawReader{r: file}
	plain, free, err := decompress(name, raw)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &content{plain, free, file}, nil
}

// content is the decompressed content of a file.
type content struct {
	io.Reader
	free func() // frees the decompressor
	file io.Closer
}

// Close frees the decompressor, and closes the file.
func (c *content) Close() error {
	c.free()
	return c.file.Close()
}

func decompress(name string, raw *rawReader) (plain io.Reader, free func(), err error) {
	packed := bufio.NewReaderSize(raw, 64<<10)
	head, err := packed.Peek(len(zstdMagic))
	if err != nil && !pipeline.IsEnd(err) {
		return nil, nil, err
	}
	isEmpty := len(head) == 0
	isCutZstd := len(head) > 1 && len(head) < len(zstdMagic) && bytes.HasPrefix(zstdMagic, head)
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		return openGzip(packed, raw)
	case bytes.HasPrefix(head, zstdMagic), isSkippableFrame(head):
		return openZstd(packed, raw)
	case isCutZstd, isEmpty && strings.HasSuffix(name, ".zst"):
		return nil, nil, raw.unpackError("zstd", io.ErrUnexpectedEOF)
	case isEmpty && strings.HasSuffix(name, ".gz"):
		return nil, nil, raw.unpackError("gzip", io.ErrUnexpectedEOF)
	}
	return packed, func() {}, nil
}

// isSkippableFrame reports whether zstd data begins with a frame that has no content.
func isSkippableFrame(head []byte) bool {
	return len(head) == 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:], []byte{0x2a, 0x4d, 0x18})
}

func openGzip(packed *bufio.Reader, raw *rawReader) (io.Reader, func(), error) {
	z, err := gzip.NewReader(packed)
	if pipeline.IsEnd(err) {
		err = io.ErrUnexpectedEOF // the data ends within the header
	}
	if err != nil {
		return nil, nil, raw.unpackError("gzip", err)
	}
	z.Multistream(false)
	return unpackErrors{"gzip", &gzipMembers{packed, z}, raw}, func() {}, nil
}

func openZstd(packed *bufio.Reader, raw *rawReader) (io.Reader, func(), error) {
	z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return nil, nil, raw.unpackError("zstd", err)
	}
	return unpackErrors{"zstd", z, raw}, z.Close, nil
}

// errTrailingData means that gzip data is followed by bytes that are no gzip member.
var errTrailingData = errs.New("other bytes after the end")

// gzipMembers decompresses gzip members one after another.
type gzipMembers struct {
	packed *bufio.Reader
	z      *gzip.Reader
}

// Read implements io.Reader.
func (m *gzipMembers) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		memberEnds := pipeline.IsEnd(err)
		if !memberEnds {
			return n, err
		}
		if n > 0 {
			return n, nil // the next Read finds the end of the member again
		}
		if err := m.openNext(); err != nil {
			return 0, err
		}
	}
}

// openNext opens the next member. It returns io.EOF if there is none.
func (m *gzipMembers) openNext() error {
	head, err := m.packed.Peek(2)
	switch {
	case len(head) == 0 && pipeline.IsEnd(err):
		return io.EOF
	case err != nil && !pipeline.IsEnd(err):
		return err
	case !bytes.HasPrefix(gzipMagic, head):
		return errTrailingData
	}
	err = m.z.Reset(m.packed)
	if pipeline.IsEnd(err) {
		return io.ErrUnexpectedEOF
	}
	m.z.Multistream(false)
	return err
}

var gzipMagic = []byte{0x1f, 0x8b}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// unpackErrors adds the format to errors of a decompressor.
type unpackErrors struct {
	format string
	r      io.Reader
	raw    *rawReader
}

func (u unpackErrors) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && !pipeline.IsEnd(err) {
		err = u.raw.unpackError(u.format, err)
	}
	return n, err
}

// rawReader stores the last error of r, to distinguish it from errors of the format.
type rawReader struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (r *rawReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.err = err
	if pipeline.IsEnd(err) {
		r.err = nil
	}
	return n, err
}

// unpackError returns the stored error, if reading has failed. Otherwise it returns an error that says what is wrong
// with the data.
func (r *rawReader) unpackError(format string, err error) error {
	switch {
	case r.err != nil:
		return r.err
	case errors.Is(err, errTrailingData):
		return errs.Errorf(
			"other bytes follow the end of the %s data; everything before them was read: copy the file again, or remove them if the file is complete without them, and repeat the command", redact.Safe(format))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errs.Errorf("the %s data is %w", redact.Safe(format), ErrCut)
	}
	return errs.Errorf("the %s data is damaged: %w: copy the file again, and repeat the command", redact.Safe(format), err)
}

// CountingFile adds the number of bytes that are read from a file to N.
type CountingFile struct {
	io.ReadCloser
	N *atomic.Int64
}

// Read implements io.Reader.
func (c *CountingFile) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.N.Add(int64(n))
	return n, err
}
