package replay

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// decompressed looks at the first bytes of r, not at its name, and unpacks gzip
// (also several members) and zstd (also several frames); anything else comes as it is.
func decompressed(r io.Reader) (io.Reader, func(), error) {
	b := bufio.NewReaderSize(r, 64<<10)
	head, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(b)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // it ends within its header
		}
		if err != nil {
			return nil, nil, unpackError("gzip", err)
		}
		z.Multistream(false)
		return unpacked{"gzip", &members{b, z}}, func() {}, nil
	case bytes.HasPrefix(head, zstdMagic),
		len(head) == 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:], []byte{0x2a, 0x4d, 0x18}): // a skippable frame
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, nil, unpackError("zstd", err)
		}
		return unpacked{"zstd", z}, z.Close, nil
	case len(head) > 1 && len(head) < 4 && bytes.Equal(head, zstdMagic[:len(head)]):
		return nil, nil, unpackError("zstd", io.ErrUnexpectedEOF)
	}
	return b, func() {}, nil
}

// errRubbish is of bytes behind the end of gzip data that begin no further member.
var errRubbish = errs.New("rubbish behind the end")

// members unpacks gzip members one behind the other.
type members struct {
	packed *bufio.Reader
	z      *gzip.Reader
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			if errors.Is(err, io.EOF) {
				err = nil // the next Read finds it again
			}
			return n, err
		}
		head, err := m.packed.Peek(2)
		switch {
		case len(head) == 0 && errors.Is(err, io.EOF):
			return 0, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return 0, err
		case !bytes.HasPrefix(gzipMagic, head):
			return 0, errRubbish
		}
		if err := m.z.Reset(m.packed); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		m.z.Multistream(false)
	}
}

var gzipMagic = []byte{0x1f, 0x8b}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// unpacked says of a compressed file what is wrong with it.
type unpacked struct {
	format string
	r      io.Reader
}

func (u unpacked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = unpackError(u.format, err)
	}
	return n, err
}

func unpackError(format string, err error) error {
	switch {
	case errors.Is(err, errRubbish):
		return errs.Errorf("rubbish stands behind the end of the %s data; what is before it was read: take it off, or copy the file again, and replay it", redact.Safe(format))
	case errors.Is(err, errGivenUp):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errs.Errorf("the %s data is cut short: copy the file again, and replay it", redact.Safe(format))
	}
	return errs.Errorf("the %s data is damaged: %w: copy the file again, and replay it", redact.Safe(format), err)
}
