package replay

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tablewake/tablewake/pipeline/inputs"
)

// skipBroken consumes broken text up to the place where reading continues. That is the first of these places:
//   - The next whole record or event. If the broken line is a document of its own, records in the rest of the line do
//     not count.
//   - The next line with the indentation of the first broken line, unless it begins with a quote, a closing bracket, a
//     comma or a colon. So in a file with one record per line, only the broken line itself is lost.
//
// A string counts as ended at the end of its line, so that a truncated string hides no record. skipBroken returns the
// broken text as a record with the cause. If the text is too large, or has a hole of bytes 0, it becomes a fault
// instead, and found is false. Text that the end of the file cuts off becomes a fault at the end of the file. After a
// hole or a cut, records are missing, and a dead letter of the broken text would hide that.
func (d *documents) skipBroken(cause error) (r savedRecord, found bool, err error) {
	if errors.Is(cause, errInterrupted) {
		return savedRecord{}, false, cause
	}
	indent, failedAt := d.w.indent, d.failedAt
	r = d.beginRecord()
	d.expect = wantAny
	end, hasRecord := d.findResume(indent)
	if errors.Is(d.w.err, errInterrupted) {
		return savedRecord{}, false, d.w.err
	}
	if end == len(d.w.buf) {
		cause = d.causeAtEnd(cause)
		end = len(bytes.TrimRight(d.w.buf, " \t\r\n")) // report the last byte that is not white space
	}
	text := d.w.consume(end)
	d.resume(hasRecord, indent)
	endInputReports := d.w.err != nil && errors.Is(cause, d.w.err)
	if endInputReports {
		return savedRecord{}, false, nil
	}
	unread := d.w.offset - r.offset
	if err := d.lossError(text, unread, cause); err != nil {
		d.faults = append(d.faults, &fault{offset: r.offset, line: r.line, err: err, unread: unread})
		return savedRecord{}, false, nil //nolint:nilerr // the fault has the error
	}
	return d.brokenRecord(r, text, failedAt, cause, unread), true, nil
}

// causeAtEnd returns the cause of broken text that reaches the end of the file. If the file is cut off, that becomes
// the error of the file.
func (d *documents) causeAtEnd(cause error) error {
	if bytes.HasSuffix(d.w.buf, []byte{0}) {
		cause = inputs.ErrZeros
	}
	if d.w.err == nil && errors.Is(cause, inputs.ErrCut) {
		d.w.err = cause
	}
	return cause
}

// lossError returns the error of broken text that cannot become a record because it has a hole or is too large; nil for
// other text. unread is the number of bytes that were skipped, and text has the last of them.
func (d *documents) lossError(text []byte, unread int64, cause error) error {
	isTooLarge := int64(len(text)) < unread || len(text) > d.w.maxRecord/8
	switch {
	case inputs.HoleIndex(text) >= 0:
		return fmt.Errorf("up to line %d nothing is read: %w", d.w.line, inputs.ErrZeros)
	case isTooLarge:
		return fmt.Errorf("%w; up to line %d nothing is read: fix it, and replay the file again", cause, d.w.line)
	}
	return nil
}

// brokenRecord returns a record whose text is broken at the index failedAt. unread is the number of its bytes.
func (d *documents) brokenRecord(r savedRecord, text []byte, failedAt int, cause error, unread int64) savedRecord {
	r.raw = bytes.TrimRight(text, " \t\r\n")
	if d.nesting != betweenDocuments {
		r.raw = bytes.TrimRight(bytes.TrimSuffix(r.raw, []byte(",")), " \t\r\n")
	}
	r.broken = r.faultAt(failedAt, cause)
	r.broken.unread = unread
	return r
}

// resume updates the state after broken text was consumed. indent is the indentation of the first broken line, which
// the text from here on continues unless a record begins.
func (d *documents) resume(hasRecord bool, indent int) {
	switch {
	case hasRecord:
		d.guessNesting()
	case d.w.indent >= 0:
		d.w.indent = indent
	}
	if d.lastUnclosed < d.w.offset {
		d.unclosed = nil
	}
}

// faultAt returns the fault of a record whose text is broken at the index failedAt.
func (r *savedRecord) faultAt(failedAt int, cause error) *fault {
	before := r.raw[:min(failedAt, len(r.raw))]
	return &fault{
		offset: r.offset + int64(len(before)),
		line:   r.line + int64(bytes.Count(before, newline)),
		err: fmt.Errorf("%w; %d bytes up to line %d are not read: fix them, and replay them", cause, len(r.raw),
			r.line+int64(bytes.Count(r.raw, newline))),
	}
}

// findResume returns the index at which reading continues after broken text; see skipBroken. hasRecord reports whether
// a whole record or event begins at that index. If the text is too large, findResume consumes the text that it has
// skipped.
func (d *documents) findResume(indent int) (end int, hasRecord bool) {
	// A line that is a document of its own is skipped completely, unless it begins with a closing bracket.
	isClosing := d.w.buf[0] == ']' || d.w.buf[0] == '}'
	inOwnLine := indent >= 0 && d.nesting == betweenDocuments && !d.uncertain && !isClosing
	for i := 1; ; {
		if i > d.w.maxRecord {
			d.w.consume(i)
			i = 0
		}
		if !d.w.has(i) {
			return len(d.w.buf), false
		}
		switch c := d.w.buf[i]; {
		case c == '{' && !inOwnLine:
			next, hasRecord := d.recordAt(i)
			if hasRecord {
				return i, true
			}
			i = next
		case c == '\n':
			inOwnLine = false
			text, textIndent := d.skipIndent(i + 1)
			if text == len(d.w.buf) {
				return text, false
			}
			resumes := textIndent == indent && !d.continuesValue(text)
			if resumes {
				return text, d.beginsRecord(text)
			}
			i = text
		default:
			i++
		}
	}
}

// continuesValue reports whether the byte at i cannot begin a document: it ends or continues a value.
func (d *documents) continuesValue(i int) bool {
	return bytes.IndexByte([]byte("\"}],:"), d.w.buf[i]) >= 0
}

// beginsRecord reports whether a whole record or event begins at i.
func (d *documents) beginsRecord(i int) bool {
	if d.w.buf[i] != '{' {
		return false
	}
	_, hasRecord := d.recordAt(i)
	return hasRecord
}

// skipIndent returns the index of the first byte from i on that is not white space, and the length of the white space
// before that byte on its line. i must be the start of a line. The index is len(d.w.buf) at the end of the file.
func (d *documents) skipIndent(i int) (text, indent int) {
	for start := i; d.w.has(i); i++ {
		switch d.w.buf[i] {
		case '\n':
			start = i + 1
		case ' ', '\t', '\r':
		default:
			return i, i - start
		}
	}
	return i, 0
}

// recordAt reports whether a whole record or event begins with the brace at i. If not, next is the index at which the
// search continues. recordAt does not scan from a bracket that is known to be unclosed.
func (d *documents) recordAt(i int) (next int, hasRecord bool) {
	if d.isUnclosed(i) {
		return i + 1, false
	}
	end, isEvent, err := d.scanObject(i)
	if err != nil {
		return i + 1, false
	}
	if isEvent {
		return i, true
	}
	switch d.classify(i, end) {
	case wholeRecord:
		return i, true
	case containsRecords:
		return i + 1, false
	}
	return end, false
}

// startsWithRecord reports whether the array at the present position begins with a whole record. If it does, and a
// record of an outer array is expected here, the end of the outer array is missing.
func (d *documents) startsWithRecord() bool {
	d.valueStart = 0
	i, err := d.skipSpace(1)
	return err == nil && d.beginsRecord(i)
}

// guessNesting guesses nesting, because the broken text before may have hidden brackets. If the next record is broken
// too, guessNesting does not change nesting, and returns false.
func (d *documents) guessNesting() (ok bool) {
	d.expect = wantAnother
	end, isEvent, err := d.scanObject(0)
	if err != nil {
		return false
	}
	guess := d.nestingOf(end, isEvent)
	if guess == d.nesting {
		return true
	}
	if d.nesting == betweenDocuments { // an array begins
		d.number = 0
	}
	d.nesting, d.uncertain = guess, true
	return true
}

// nestingOf returns the likely nesting of the next record or event, as scanObject found it. If nothing contradicts the
// present nesting, it returns that.
func (d *documents) nestingOf(end int, isEvent bool) nesting {
	switch {
	case isEvent && d.nesting == inArrayOfEvent:
		return inArray
	case isEvent && d.nesting == inEvent:
		return betweenDocuments
	case isEvent:
		return d.nesting
	case !d.arrayContinues(end):
		return betweenDocuments
	case d.nesting == betweenDocuments:
		return inArray
	}
	return d.nesting
}

// arrayContinues reports whether the text from i on begins like the rest of an array.
func (d *documents) arrayContinues(i int) bool {
	i, err := d.skipSpace(i)
	return err == nil && (d.w.buf[i] == ',' || d.w.buf[i] == ']')
}
