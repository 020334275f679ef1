package replay

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/inputs"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// maxRecordBytes limits the size of a record, a line, or the text of an event outside its records. The largest record
// of a stream (two images of 400 KB, in base64) is far smaller.
const maxRecordBytes = 64 << 20

// window is the part of a file that is in memory: bytes that were read and not consumed. Consumed bytes belong to the
// caller and are never overwritten.
type window struct {
	r          io.Reader
	blockBytes int    // minimum capacity of buf, in bytes
	maxRecord  int    // maximum size of text that is scanned as one value, in bytes
	buf        []byte // bytes that were read and not consumed
	offset     int64  // offset of buf[0] in the decompressed file
	line       int64  // line number of buf[0], from 1
	indent     int    // length of the white space before buf[0] on its line; -1 if other text is before buf[0]
	eof        bool   // the file ends after buf
	err        error  // read error that ended the file; nil if it ended with io.EOF
	cutErr     error  // error if the file ends within a document. Default: errCut
}

// fill reads at least one more byte, unless the file ends.
func (w *window) fill() {
	if w.eof {
		return
	}
	if len(w.buf) == cap(w.buf) {
		grown := make([]byte, len(w.buf), max(w.blockBytes, 2*len(w.buf)))
		copy(grown, w.buf)
		w.buf = grown
	}
	n, err := io.ReadAtLeast(w.r, w.buf[len(w.buf):cap(w.buf)], 1)
	w.buf = w.buf[:len(w.buf)+n]
	if err != nil {
		w.eof = true
		if !pipeline.IsEnd(err) {
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

// has reads until there is a byte at i, and reports whether the file has it.
func (w *window) has(i int) bool {
	w.fillTo(i + 1)
	return i < len(w.buf)
}

// growFrom doubles the number of bytes in memory from i on, so that repeated scans read each byte twice on average. It
// returns false at the end of the file, or if there are more than maxRecord bytes from i on.
func (w *window) growFrom(i int) bool {
	n := len(w.buf)
	if n-i > w.maxRecord {
		return false
	}
	w.fillTo(n + max(n-i, 1))
	return len(w.buf) > n
}

// growError returns the reason why growFrom returned false.
func (w *window) growError() error {
	switch {
	case w.err != nil:
		return w.err
	case w.eof:
		return cmp.Or(w.cutErr, errCut)
	}
	return errs.Errorf("more than %s without the end of a record", redact.Safe(sizeText(w.maxRecord)))
}

func sizeText(n int) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// consume consumes and returns n bytes.
func (w *window) consume(n int) []byte {
	return w.consumeLines(n, bytes.Count(w.buf[:n], newline))
}

// consumeLines consumes and returns n bytes with a known number of line ends.
func (w *window) consumeLines(n, ends int) []byte {
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

// nextNonSpace consumes white space, and returns the next byte without consuming it. It returns false at the end of the
// file.
func (w *window) nextNonSpace() (byte, bool) {
	for {
		if n := skipSpace(w.buf, 0); n > 0 {
			w.consumeSpace(n)
		}
		switch {
		case len(w.buf) > 0:
			return w.buf[0], true
		case w.eof:
			return 0, false
		}
		w.fill()
	}
}

// consumeSpace consumes n bytes of white space, and counts them as indentation.
func (w *window) consumeSpace(n int) {
	indent := w.indent
	if i := bytes.LastIndexByte(w.buf[:n], '\n'); i >= 0 {
		indent = n - i - 1
	} else if indent >= 0 {
		indent += n
	}
	w.consume(n)
	w.indent = indent
}

// wholeLines finds the whole lines at the start of the window that are documents of their own. It returns their size,
// up to limit bytes, and their number. Each of these lines begins and ends like an object, and the next line begins
// like a document. No document can continue over such a line end, because valid JSON continues after a value with a
// comma or a closing bracket. The last line of a file is never included.
func (w *window) wholeLines(limit int) (size, ends int) {
	b := w.buf[:min(limit, len(w.buf))]
	if hole := inputs.HoleIndex(b); hole >= 0 { // reading line by line reports it
		b = b[:hole]
	}
	for {
		length := bytes.IndexByte(b[size:], '\n')
		if length < 0 || !isDocumentLine(b[size:size+length]) {
			return size, ends
		}
		next := size + length + 1
		text := skipSpace(w.buf, next)
		documentFollows := text < len(w.buf) && (w.buf[text] == '{' || w.buf[text] == '[')
		if !documentFollows {
			return size, ends
		}
		size = next
		ends++
	}
}

// isDocumentLine reports whether a line is blank, or begins and ends like an object.
func isDocumentLine(line []byte) bool {
	if isBraced(line) {
		return true
	}
	text := bytes.Trim(line, " \t\r")
	return len(text) == 0 || isBraced(text)
}

// isBraced reports whether a line begins and ends like an object.
func isBraced(line []byte) bool { return len(line) > 0 && line[0] == '{' && line[len(line)-1] == '}' }

var newline = []byte{'\n'}
