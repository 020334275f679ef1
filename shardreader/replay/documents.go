package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// documents cuts arrays, events and records that stand one behind the other into
// records, without decoding them. It holds one record at a time, so an array or
// event may be of any size.
type documents struct {
	w      *window
	scan   scanner
	within nest
	expect expectation
}

// expectation is what the innermost array wants next.
type expectation uint8

const (
	comma   expectation = iota // or the array's end
	first                      // a value, or the array's end
	another                    // a value
)

// record is one record as it stands in the file.
type record struct {
	raw    []byte
	offset int64
	line   int64
}

// syntaxError is where the grammar broke.
type syntaxError struct {
	offset, line int64
	err          error
}

func (e *syntaxError) Error() string { return e.err.Error() }
func (e *syntaxError) Unwrap() error { return e.err }

var errCut = errors.New("the input ends in the middle of a document: it was cut short")

// next is the next record; io.EOF at the end, a *syntaxError where the next
// record cannot be found.
func (d *documents) next() (record, error) {
	for {
		c, err := d.peek()
		if err != nil {
			return record{}, err
		}
		switch {
		case d.within == inDocuments && c == '[':
			d.w.take(1)
			d.within, d.expect = inArray, first
		case c == '{' && (d.within == inDocuments || d.within == inArray && d.expect != comma):
			if r, found, err := d.object(); err != nil || found {
				return r, err
			}
		case d.within != inDocuments && c == ']' && d.expect != another:
			d.w.take(1)
			if err := d.leave(); err != nil {
				return record{}, err
			}
		case d.within != inDocuments && d.expect == comma:
			if c != ',' {
				return record{}, d.bad(0)
			}
			d.w.take(1)
			d.expect = another
		default:
			end, err := d.value(0)
			if err != nil {
				return record{}, err
			}
			return d.take(end), nil
		}
	}
}

// peek passes over white space; io.EOF at the end of the last document.
func (d *documents) peek() (byte, error) {
	c, ok := d.w.space()
	switch {
	case !ok && d.within == inDocuments && d.w.err == nil:
		return 0, io.EOF
	case !ok:
		return 0, d.cut()
	}
	return c, nil
}

// object reads the object at hand: a record, found, or an event, entered.
func (d *documents) object() (r record, found bool, err error) {
	end, event, err := d.outline()
	switch {
	case err != nil:
		return record{}, false, err
	case event:
		d.w.take(end)
		d.expect = first
		if d.within == inArray {
			d.within = inArrayOfEvent
		} else {
			d.within = inEvent
		}
		return record{}, false, nil
	}
	return d.take(end), true, nil
}

// outline scans the object at hand without consuming it. Of an event, an object with an
// array of Records, it returns the index behind that array's bracket; of any
// other its end.
func (d *documents) outline() (end int, event bool, err error) {
	i := 1
	for n := 0; ; n++ {
		if i, err = d.space(i); err != nil {
			return 0, false, err
		}
		if n == 0 && d.w.buf[i] == '}' {
			return i + 1, false, nil
		}
		name, at, err := d.name(i)
		if err != nil {
			return 0, false, err
		}
		if string(name) == "Records" && d.w.buf[at] == '[' {
			return at + 1, true, nil
		}
		if i, err = d.value(at); err != nil {
			return 0, false, err
		}
		if i, err = d.space(i); err != nil {
			return 0, false, err
		}
		switch d.w.buf[i] {
		case '}':
			return i + 1, false, nil
		case ',':
			i++
		default:
			return 0, false, d.bad(i)
		}
	}
}

// leave goes on behind the end of an array: of records, or of an event's Records,
// where the rest of the event is passed over.
func (d *documents) leave() error {
	if d.within == inArray {
		d.within = inDocuments
		return nil
	}
	for {
		c, err := d.peek()
		if err != nil {
			return err
		}
		if c == '}' {
			d.w.take(1)
			break
		}
		if c != ',' {
			return d.bad(0)
		}
		i, err := d.space(1)
		if err != nil {
			return err
		}
		name, at, err := d.name(i)
		if err != nil {
			return err
		}
		if string(name) == "Records" {
			return &syntaxError{d.w.offset + int64(i), d.w.lineAt(i), errors.New("an event with two members named Records")}
		}
		if i, err = d.value(at); err != nil {
			return err
		}
		d.w.take(i)
	}
	d.expect = comma
	if d.within == inArrayOfEvent {
		d.within = inArray
	} else {
		d.within = inDocuments
	}
	return nil
}

// take consumes a record that ends at end.
func (d *documents) take(end int) record {
	r := record{offset: d.w.offset, line: d.w.line}
	r.raw = d.w.take(end)
	d.expect = comma
	return r
}

// value scans the value at i, reading on as needed.
func (d *documents) value(i int) (int, error) {
	for {
		end, st := d.scan.value(d.w.buf, i)
		// Only what follows a number at the end of the bytes tells whether it is whole.
		if st == done && (end < len(d.w.buf) || d.w.eof) {
			return end, nil
		}
		if st == bad {
			return 0, d.bad(end)
		}
		if d.w.eof {
			return 0, d.cut()
		}
		d.w.fill()
	}
}

// name reads the member name at i and tells where its value starts.
func (d *documents) name(i int) (name []byte, at int, err error) {
	for {
		at, st := scanName(d.w.buf, i)
		if st == bad {
			return nil, 0, d.bad(at)
		}
		if st == done && at < len(d.w.buf) {
			end, _ := scanString(d.w.buf, i)
			name = d.w.buf[i+1 : end-1]
			if bytes.IndexByte(name, '\\') >= 0 {
				var text string
				if err := json.Unmarshal(d.w.buf[i:end], &text); err != nil {
					return nil, 0, d.bad(i)
				}
				name = []byte(text)
			}
			return name, at, nil
		}
		if d.w.eof {
			return nil, 0, d.cut()
		}
		d.w.fill()
	}
}

// space skips white space from i on, reading on as needed.
func (d *documents) space(i int) (int, error) {
	for {
		if i = skipSpace(d.w.buf, i); i < len(d.w.buf) {
			return i, nil
		}
		if d.w.eof {
			return 0, d.cut()
		}
		d.w.fill()
	}
}

func (d *documents) bad(i int) error {
	return &syntaxError{d.w.offset + int64(i), d.w.lineAt(i), fmt.Errorf("broken JSON: unexpected %q", d.w.buf[i])}
}

func (d *documents) cut() error {
	err := errCut
	if d.w.err != nil {
		err = d.w.err
	}
	i := len(d.w.buf)
	return &syntaxError{d.w.offset + int64(i), d.w.lineAt(i), err}
}
