package record

import (
	"bytes"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// DecodeLines reads JSON lines. Each line is a record, an event, or an array of records. The page keeps b, which the
// caller must not change. Lines may be blank and may end in CR LF, and a byte order mark may precede the first line. A
// line with invalid grammar becomes a RecordError of the page, which wraps a *FramingError. DecodeLines then continues
// with the next line.
func (d *Decoder) DecodeLines(b []byte) *Page {
	r := d.newReader(b)
	defer d.release(r)
	r.lines(b)
	return r.page
}

// lines reads the lines of b.
func (r *recordReader) lines(b []byte) {
	for start := byteOrderMark(b); start < len(b); {
		end := len(b)
		if n := bytes.IndexByte(b[start:], '\n'); n >= 0 {
			end = start + n
		}
		r.readLine(b[:end], start)
		start = end + 1
	}
}

// readLine reads the line from i to the end of b.
func (r *recordReader) readLine(b []byte, i int) {
	input := r.Input
	r.Input = b
	defer func() { r.Input = input }()
	for i = r.SkipSpace(i); i < len(b); i = r.SkipSpace(i) {
		next := r.readLineObject(i)
		if next < 0 {
			r.rejectLine(i)
			return
		}
		i = next
	}
}

// readLineObject reads the record, the event, the array or the line of a snapshot at i.
func (r *recordReader) readLineObject(i int) int {
	if r.snapshot != nil {
		return r.readLineRecord(i)
	}
	if first := r.Peek(i); first != '{' && first != '[' {
		return r.Fail(i, errRecord) // the whole line is one error
	}
	return r.readInput(i)
}

// rejectLine adds the line from i to the errors of the page. If the line is an array or an event, it adds only the part
// after the last complete record.
func (r *recordReader) rejectLine(i int) {
	hasCompleteRecord := i < r.recordAt && r.recordAt < len(r.Input)
	if hasCompleteRecord {
		i = r.recordAt
	}
	r.addError(i, len(r.Input), r.framingError())
}

// DecodeBroken returns the error of one record with invalid grammar, for a source that knows the end of the record. The
// result has the key and the version if they are complete before the invalid part. It keeps b. Its Err is nil only if b
// has no record.
func (d *Decoder) DecodeBroken(b []byte, index int) *RecordError {
	r := d.newReader(b)
	defer d.release(r)
	e := &RecordError{Index: index, Raw: b}
	i := r.SkipSpace(byteOrderMark(b))
	if i == len(b) {
		return e
	}
	if end := r.readRecordOrEnvelope(i); end >= 0 { // the record ends, and something else follows it
		r.Fail(end, ddbjson.ErrTrailing)
		r.forgetPrevious()
	}
	e.Path, e.Err = r.Locate(i, r.ErrAt, ddbjson.InRecord), r.framingError()
	r.recoverKey(i, e)
	return e
}
