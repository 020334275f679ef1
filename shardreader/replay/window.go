package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxRecord bounds one record, line or envelope. The largest record of a stream
// (two images of 400 KB, in base64) is far below.
const maxRecord = 64 << 20

var errTooLong = fmt.Errorf("more than %d MiB without the end of a record", maxRecord>>20)

// window is the part of a file that is in memory: the bytes read and not yet
// consumed. Bytes once handed out are never written again.
type window struct {
	r      io.Reader
	block  int    // bytes to read at a time
	buf    []byte // read, not consumed
	offset int64  // of buf[0] in the file, decompressed
	line   int64  // of buf[0], 1-based
	eof    bool   // nothing comes behind buf
	err    error  // why the file ended, where that was no plain end
}

// fill reads more bytes behind those in memory, at least one unless the file ends.
func (w *window) fill() {
	if w.eof {
		return
	}
	if len(w.buf) == cap(w.buf) {
		if len(w.buf) > maxRecord {
			w.eof, w.err = true, errTooLong
			return
		}
		grown := make([]byte, len(w.buf), max(w.block, 2*len(w.buf)))
		copy(grown, w.buf)
		w.buf = grown
	}
	n, err := io.ReadAtLeast(w.r, w.buf[len(w.buf):cap(w.buf)], 1)
	w.buf = w.buf[:len(w.buf)+n]
	if err != nil {
		w.eof = true
		if !errors.Is(err, io.EOF) {
			w.err = err
		}
	}
}

// fillTo reads until at least n bytes are in memory or the file ends.
func (w *window) fillTo(n int) {
	for len(w.buf) < n && !w.eof {
		w.fill()
	}
}

// take consumes n bytes and hands them out.
func (w *window) take(n int) []byte {
	b := w.buf[:n:n]
	w.buf = w.buf[n:]
	w.offset += int64(n)
	w.line += int64(bytes.Count(b, newline))
	return b
}

// space consumes white space, and tells the byte behind it; false at the end.
func (w *window) space() (byte, bool) {
	for {
		w.take(skipSpace(w.buf, 0))
		if len(w.buf) > 0 {
			return w.buf[0], true
		}
		if w.eof {
			return 0, false
		}
		w.fill()
	}
}

// lineAt is the number of the line in which buf[i] stands.
func (w *window) lineAt(i int) int64 {
	return w.line + int64(bytes.Count(w.buf[:min(i, len(w.buf))], newline))
}

var newline = []byte{'\n'}
