package record

import (
	"bytes"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// DecodeLines reads JSON lines: on each a record, or an event or array of records.
// It takes b over. Lines may end in CR LF, may be blank, and a byte order mark may
// stand before the first. A line of broken grammar is a RecordError in the page,
// which wraps the *FramingError, and reading goes on at the next line.
func (d *Decoder) DecodeLines(b []byte) *Page {
	r := d.reader(b)
	defer d.release(r)
	for at := byteOrderMark(b); at < len(b); {
		end := len(b)
		if n := bytes.IndexByte(b[at:], '\n'); n >= 0 {
			end = at + n
		}
		r.line(b[:end], at)
		at = end + 1
	}
	return r.page
}

// line reads the last line of b, which starts at at.
func (r *recordReader) line(b []byte, at int) {
	whole := r.B
	r.B = b
	defer func() { r.B = whole }()
	for at = r.Space(at); at < len(b); at = r.Space(at) {
		next := -1
		if c := b[at]; c == '{' || c == '[' {
			next = r.document(at)
		} else {
			r.Fail(at, errRecord) // one error for the line, and not one for each token
		}
		if next < 0 {
			r.rejectLine(at)
			return
		}
		at = next
	}
}

// rejectLine makes what is left of a line from i an error; of an array or an event
// that breaks off, what comes behind its whole records.
func (r *recordReader) rejectLine(i int) {
	if i < r.current && r.current < len(r.B) {
		i = r.current
	}
	e := &RecordError{Index: r.index(), Offset: int64(i), Raw: r.B[i:len(r.B):len(r.B)], Err: r.framingError()}
	e.Path = r.LocateFrom(i, r.At, ddbjson.InRecord)
	r.rescue(i, e)
	r.page.Errors = append(r.page.Errors, e)
}

// DecodeBroken is the error of a record whose grammar is broken, for who finds out by
// other means where it ends: what came whole before the break is believed, its key and
// its version. It takes b over. Err says what the decoder has found, if that is anything.
func (d *Decoder) DecodeBroken(b []byte, index int) *RecordError {
	r := d.reader(b)
	defer d.release(r)
	e := &RecordError{Index: index, Raw: b}
	i := r.Space(byteOrderMark(b))
	if i == len(b) {
		return e
	}
	if next := r.one(i, true); next >= 0 {
		r.Fail(next, ddbjson.ErrTrailing)
		r.forget()
	}
	e.Path, e.Err = r.LocateFrom(i, r.At, ddbjson.InRecord), r.framingError()
	r.rescue(i, e)
	return e
}
