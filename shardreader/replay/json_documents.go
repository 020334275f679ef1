package replay

import (
	"bytes"
	"errors"
	"io"

	"github.com/tablewake/tablewake/pipeline/inputs"
)

// documents splits a sequence of JSON documents into records without decoding them. A document is an array, an event or
// a record, in any layout. Only one record is in memory at a time, so an array or event can have any size.
//
// next returns broken text as a record with its fault. The record ends where reading continues; see skipBroken. Faults
// that lose no record, and broken text that is too large to return, are in faults.
type documents struct {
	w            *window
	scan         scanner
	nesting      nesting
	expect       expectation
	number       int64          // number of the last record in its array or event
	unclosed     map[int64]bool // offsets of brackets that are never closed
	lastUnclosed int64          // the largest offset in unclosed
	faults       []*fault
	uncertain    bool // nesting is a guess, because brackets were missing

	tokenEnd, tokenEndLine int64 // position after the last token

	valueStart int // index in w.buf at which the value being scanned begins
	failedAt   int // index in w.buf at which the last scan failed
}

// expectation defines which token must come next in the innermost array.
type expectation uint8

const (
	wantComma   expectation = iota // a comma, or the array's end
	wantFirst                      // a value, or the array's end, at the start of an array
	wantAnother                    // a value, after a comma
	wantAny                        // any of the tokens above, because the text before was broken
)

// savedRecord is the text of one record in a file.
type savedRecord struct {
	raw    []byte
	offset int64
	line   int64
	number int64  // number in its array or event, from 1; 0 if the record is a document itself
	broken *fault // fault of raw; nil if raw is valid JSON
}

// fault is a position at which the JSON is broken.
type fault struct {
	offset, line int64
	err          error
	unread       int64 // number of bytes from offset on that are not read
	repeats      int   // number of other positions in the file with the same error
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// in returns the error of a fault in a file.
func (f *fault) in(file string) *FileError {
	return &FileError{File: file, Offset: f.offset, Line: f.line, Unread: f.unread, More: f.repeats, Err: f.err}
}

var (
	errCut     = errs.Errorf("the input ends in the middle of a document: it was %w", inputs.ErrCut)
	errComma   = errs.New("broken JSON: a comma too many")
	errNoComma = errs.New("broken JSON: a comma, or the end of the array before it, is missing")
	errNoEnd   = errs.New("broken JSON: the end of an array or event is missing before this")
	errRecords = errs.New("broken JSON: an event with two members named Records")
	errLineEnd = errs.New("broken JSON: a line ends within a string")
	errControl = errs.New("broken JSON: a control character within a string")
	errDeep    = errs.New("JSON nested too deep")
	errOpen    = errs.New("broken JSON: nothing closes this bracket")
)

// next returns the next record, and io.EOF after the last record.
func (d *documents) next() (savedRecord, error) {
	for {
		c, ok := d.peek()
		if !ok {
			return savedRecord{}, d.endInput()
		}
		r, found, err := d.step(c)
		if err != nil {
			r, found, err = d.skipBroken(err)
		}
		if found || err != nil {
			return r, err
		}
	}
}

// step reads one token: a bracket, a comma or a whole record. found reports whether the token is a record.
func (d *documents) step(c byte) (r savedRecord, found bool, err error) {
	nested := d.nesting != betweenDocuments
	switch {
	case c == ',':
		d.readComma()
		return savedRecord{}, false, nil
	case c == ']' && nested:
		if d.expect == wantAnother {
			d.addFault(errComma)
		}
		d.w.consume(1)
		return savedRecord{}, false, d.endArray()
	case c == '[' && d.opensArray():
		if nested {
			d.addFault(errNoEnd)
			d.uncertain = true
		}
		d.w.consume(1)
		d.nesting, d.expect, d.number = inArray, wantFirst, 0
		return savedRecord{}, false, nil
	case c == '{':
		// A comma is missing, or the end of the array. guessNesting may change nesting.
		if nested && d.expect == wantComma && d.guessNesting() {
			d.addFault(errNoComma)
		}
		return d.readObject()
	case nested && d.expect == wantComma:
		return savedRecord{}, false, d.syntaxError(0)
	}
	return d.readValue()
}

// readComma reads a comma, and adds a fault if there is no value before it.
func (d *documents) readComma() {
	isTooMany := d.nesting == betweenDocuments || d.expect == wantFirst || d.expect == wantAnother
	if isTooMany {
		d.addFault(errComma)
	}
	d.w.consume(1)
	d.expect = wantAnother
}

// readValue reads a value that is not an object, as a record. The decoder refuses it.
func (d *documents) readValue() (r savedRecord, found bool, err error) {
	if d.isUnclosed(0) {
		return savedRecord{}, false, d.openError()
	}
	d.valueStart = 0
	end, err := d.scanValue(0)
	if err == nil {
		err = d.checkClosed(end)
	}
	if err != nil {
		return savedRecord{}, false, err
	}
	return d.takeRecord(end), true, nil
}

// opensArray reports whether the bracket at the present position opens an array of records. It does between documents.
// In an array it does if a comma is expected, because no value can come there, or if a whole record follows it. The end
// of the outer array is then missing.
func (d *documents) opensArray() bool {
	if d.nesting == betweenDocuments || d.expect == wantComma {
		return true
	}
	return !d.isUnclosed(0) && d.startsWithRecord()
}

// peek skips white space, and byte order marks between documents. It returns the next byte without consuming it, and
// false at the end of the input.
func (d *documents) peek() (byte, bool) {
	d.tokenEnd, d.tokenEndLine = d.w.offset, d.w.line
	for {
		c, ok := d.w.nextNonSpace()
		if c != byteOrderMark[0] || !d.skipByteOrderMark() {
			return c, ok
		}
	}
}

// skipByteOrderMark consumes a byte order mark. It returns false if the text does not begin with one.
func (d *documents) skipByteOrderMark() bool {
	d.w.fillTo(len(byteOrderMark))
	if !bytes.HasPrefix(d.w.buf, byteOrderMark) {
		return false
	}
	if d.nesting != betweenDocuments { // another file begins here: the file before it was truncated
		d.addFault(errNoEnd)
		d.nesting, d.uncertain = betweenDocuments, true
	}
	indent := d.w.indent // the mark is not text before the next byte
	d.w.consume(len(byteOrderMark))
	d.w.indent = indent
	return true
}

var byteOrderMark = []byte("\ufeff")

// endInput returns the error at the end of the input. It adds a fault if the input could not be read to its end, or
// ends inside an array or event.
func (d *documents) endInput() error {
	if errors.Is(d.w.err, errInterrupted) {
		return d.w.err
	}
	if d.w.err != nil || d.nesting != betweenDocuments {
		d.faults = append(d.faults, &fault{offset: d.tokenEnd, line: d.tokenEndLine, err: d.w.growError()})
		d.w.err, d.nesting = nil, betweenDocuments
	}
	return io.EOF
}

// readObject reads the next object. found reports whether it is a record. Of an event, readObject reads only the start,
// up to its first record.
func (d *documents) readObject() (r savedRecord, found bool, err error) {
	if d.isUnclosed(0) {
		return savedRecord{}, false, d.openError()
	}
	end, isEvent, err := d.scanObject(0)
	if err == nil && !isEvent {
		err = d.checkClosed(end)
	}
	switch {
	case err != nil:
		return savedRecord{}, false, err
	case isEvent:
		d.w.consume(end)
		d.expect = wantFirst
		if d.nesting == inArray {
			d.nesting = inArrayOfEvent // records are numbered through the whole outer array
		} else {
			d.nesting, d.number = inEvent, 0
		}
		return savedRecord{}, false, nil
	}
	return d.takeRecord(end), true, nil
}

// endArray continues after the end of an array. If the array was the Records of an event, endArray also skips the rest
// of the event.
func (d *documents) endArray() error {
	d.expect = wantComma
	if d.nesting == inArray {
		d.nesting = betweenDocuments
		return nil
	}
	outer := betweenDocuments
	if d.nesting == inArrayOfEvent {
		outer = inArray
	}
	return d.skipRestOfEvent(outer)
}

// skipRestOfEvent skips the members after the Records of an event, and the end of the event. If the event has Records
// again, it continues with them. outer is the nesting around the event.
func (d *documents) skipRestOfEvent(outer nesting) error {
	for {
		c, ok := d.peek()
		switch {
		case !ok || d.nesting == betweenDocuments:
			return nil // endInput reports it
		case c == '}':
			d.w.consume(1)
			d.nesting = outer
			return nil
		case c != ',':
			d.addFault(errNoEnd)
			d.nesting, d.uncertain = outer, true
			return nil
		}
		end, isRecords, err := d.scanMember()
		switch {
		case isRecords:
			d.w.consume(end)
			d.expect = wantFirst
			return nil
		case err == nil:
			d.w.consume(end)
		case d.failedAt == len(d.w.buf): // the input ends inside the member: endInput reports it
			d.w.consume(d.failedAt)
			return nil
		default:
			d.nesting, d.expect, d.uncertain = outer, wantAny, true
			return err
		}
	}
}

// takeRecord consumes and returns the record from the present position to the index end.
func (d *documents) takeRecord(end int) savedRecord {
	r := d.beginRecord()
	r.raw = d.w.consume(end)
	return r
}

// beginRecord returns a record at the present position, without its text.
func (d *documents) beginRecord() savedRecord {
	r := savedRecord{offset: d.w.offset, line: d.w.line}
	if d.nesting != betweenDocuments {
		d.number++
		r.number = d.number
	}
	d.expect = wantComma
	return r
}

// addFault adds a fault that loses no record. If several faults have the same error, it keeps the first fault and
// counts the others.
func (d *documents) addFault(err error) {
	for _, f := range d.faults {
		if errors.Is(f.err, err) {
			f.repeats++
			return
		}
	}
	d.faults = append(d.faults, &fault{offset: d.w.offset, line: d.w.line, err: err})
}
