package replay

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// maxRecord bounds one record, line or envelope. The largest record of a stream
// (two images of 400 KB, in base64) is far below.
const maxRecord = 64 << 20

// window is the part of a file that is in memory: the bytes read and not yet
// consumed. Bytes once handed out are never written again.
type window struct {
	r      io.Reader
	block  int    // bytes to read at a time
	most   int    // bound of what is looked at together
	buf    []byte // read, not consumed
	offset int64  // of buf[0] in the file, decompressed
	line   int64  // of buf[0], 1-based
	indent int    // white space before buf[0] on its line; -1: something else is there
	eof    bool   // nothing comes after buf
	err    error  // why the file ended, if that was no plain end
	cut    error  // what is wrong where it ends in the middle of a document
}

// fill reads more bytes behind those in memory, at least one unless the file ends.
func (w *window) fill() {
	if w.eof {
		return
	}
	if len(w.buf) == cap(w.buf) {
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

// grow doubles what is in memory from i on: whoever scans that again each time scans
// each byte twice, on average. False: nothing more comes, or it is over the bound.
func (w *window) grow(i int) bool {
	n := len(w.buf)
	if n-i > w.most {
		return false
	}
	w.fillTo(n + max(n-i, 1))
	return len(w.buf) > n
}

// why is the reason for which grow has failed.
func (w *window) why() error {
	switch {
	case w.err != nil:
		return w.err
	case w.eof:
		return cmp.Or(w.cut, errCut)
	}
	return errs.Errorf("more than %s without the end of a record", redact.Safe(size(w.most)))
}

func size(n int) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// take consumes n bytes and hands them out.
func (w *window) take(n int) []byte {
	return w.takeLines(n, bytes.Count(w.buf[:n], newline))
}

// takeLines is take of bytes with so many line ends.
func (w *window) takeLines(n, ends int) []byte {
	b := w.buf[:n:n]
	w.buf = w.buf[n:]
	w.offset += int64(n)
	w.line += int64(ends)
	if n > 0 {
		w.indent = -1
		if b[n-1] == '\n' {
			w.indent = 0
		}
	}
	return b
}

// space consumes white space, and shows the byte after it; false at the end.
func (w *window) space() (byte, bool) {
	for {
		if n := skipSpace(w.buf, 0); n > 0 {
			indent := w.indent
			if i := bytes.LastIndexByte(w.buf[:n], '\n'); i >= 0 {
				indent = n - i - 1
			} else if indent >= 0 {
				indent += n
			}
			w.take(n)
			w.indent = indent
		}
		if len(w.buf) > 0 {
			return w.buf[0], true
		}
		if w.eof {
			return 0, false
		}
		w.fill()
	}
}

// lines is the size of the whole lines at the start of the window, up to limit, of which
// each begins and ends as an object does, and is followed by a line that begins a document.
// No document goes on over such a line end: after a value, sound JSON goes on with a
// comma or a closing bracket. The last line of a file is none of them.
func (w *window) lines(limit int) (end, ends int) {
	b := w.buf[:min(limit, len(w.buf))]
	for ; ; ends++ {
		n := bytes.IndexByte(b[end:], '\n')
		if n < 0 {
			return end, ends
		}
		line, next := b[end:end+n], end+n+1
		if n == 0 || line[0] != '{' || line[n-1] != '}' {
			line = bytes.Trim(line, " \t\r")
			if len(line) > 0 && (line[0] != '{' || line[len(line)-1] != '}') {
				return end, ends
			}
		}
		if next == len(b) || b[next] != '{' {
			follows := skipSpace(w.buf, next)
			if follows == len(w.buf) || w.buf[follows] != '{' && w.buf[follows] != '[' {
				return end, ends
			}
		}
		end = next
	}
}

var newline = []byte{'\n'}
