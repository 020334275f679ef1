package replay

import (
	"bytes"
	"errors"
	"fmt"
)

// skipBroken consumes broken text up to the place where reading continues. That is the first of these places:
//   - The next whole record or event. If the broken line is a document of its own, records in the rest of the line do
//     not count.
//   - The next line with the indentation of the first broken line, unless it begins with a quote, a closing bracket, a
//     comma or a colon. So in a file with one record per line, only the broken line itself is lost.
//
// A string counts as ended at the end of its line, so that a truncated string hides no record. skipBroken returns the
// broken text as a record with the cause. If the text is too large, it becomes a fault instead, and found is false.
func (d *documents) skipBroken(cause error) (r savedRecord, found bool, err error) {
	if errors.Is(cause, errInterrupted) {
		return savedRecord{}, false, cause
	}
	indent, failedAt := d.w.indent, d.failedAt
	r = d.newRecord()
	d.expect = wantAny
	end, hasRecord := d.findResume(indent)
	if errors.Is(d.w.err, errInterrupted) {
		return savedRecord{}, false, d.w.err
	}
	if end == len(d.w.buf) { // the end of the file: report the last byte that is not white space
		end = len(bytes.TrimRight(d.w.buf, " \t\r\n"))
	}
	text := d.w.consume(end)
	if hasRecord {
		d.guessNesting()
	} else if d.w.indent >= 0 {
		d.w.indent = indent
	}
	if d.lastUnclosed < d.w.offset {
		d.unclosed = nil
	}
	if d.w.err != nil && errors.Is(cause, d.w.err) {
		return savedRecord{}, false, nil // endInput reports it
	}
	r.broken = &fault{offset: r.offset, line: r.line, unread: d.w.offset - r.offset}
	isTooLarge := int64(len(text)) < r.broken.unread || len(text) > d.w.maxRecord/8
	if isTooLarge {
		r.broken.err = fmt.Errorf("%w; up to line %d nothing is read: fix it, and replay the file again", cause, d.w.line)
		d.faults = append(d.faults, r.broken)
		return savedRecord{}, false, nil
	}
	r.raw = bytes.TrimRight(text, " \t\r\n")
	if d.nesting != betweenDocuments {
		r.raw = bytes.TrimRight(bytes.TrimSuffix(r.raw, []byte(",")), " \t\r\n")
	}
	before := r.raw[:min(failedAt, len(r.raw))]
	r.broken.offset += int64(len(before))
	r.broken.line += int64(bytes.Count(before, newline))
	r.broken.err = fmt.Errorf("%w; %d bytes up to line %d are not read: fix them, and replay them", cause, len(r.raw),
		r.line+int64(bytes.Count(r.raw, newline)))
	return r, true, nil
}

// findResume returns the index at which reading continues after broken text; see skipBroken. hasRecord reports whether
// a whole record or event begins at that index. If the text is too large, findResume consumes the text that it has
// skipped.
func (d *documents) findResume(indent int) (end int, hasRecord bool) {
	// A line that is a document of its own is skipped completely, unless it begins with a closing bracket.
	inOwnLine := indent >= 0 && d.nesting == betweenDocuments && !d.uncertain &&
		bytes.IndexByte([]byte("]}"), d.w.buf[0]) < 0
	i := 1
	for {
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
			continuesValue := bytes.IndexByte([]byte("\"}],:"), d.w.buf[text]) >= 0
			if textIndent == indent && !continuesValue {
				if d.w.buf[text] == '{' {
					_, hasRecord = d.recordAt(text)
				}
				return text, hasRecord
			}
			i = text
		default:
			i++
		}
	}
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
	case isRecord:
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
	if err != nil || d.w.buf[i] != '{' {
		return false
	}
	_, hasRecord := d.recordAt(i)
	return hasRecord
}

// guessNesting guesses nesting, because the broken text before may have hidden brackets. It guesses from the next
// record or event, and from the byte after that. If the next record is broken too, guessNesting does not change
// nesting, and returns false.
func (d *documents) guessNesting() (ok bool) {
	d.expect = wantAnother
	end, isEvent, err := d.scanObject(0)
	if err != nil {
		return false
	}
	guess := d.nesting
	switch {
	case isEvent && d.nesting == inArrayOfEvent:
		guess = inArray
	case isEvent && d.nesting == inEvent:
		guess = betweenDocuments
	case isEvent:
	case !d.arrayContinues(end):
		guess = betweenDocuments
	case d.nesting == betweenDocuments:
		guess, d.number = inArray, 0
	}
	if guess != d.nesting {
		d.nesting, d.uncertain = guess, true
	}
	return true
}

// arrayContinues reports whether the text from i on begins like the rest of an array.
func (d *documents) arrayContinues(i int) bool {
	i, err := d.skipSpace(i)
	return err == nil && (d.w.buf[i] == ',' || d.w.buf[i] == ']')
}
