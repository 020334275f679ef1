package replay

import (
	"bytes"
	"encoding/json"
)

// The methods in this file scan the window from an index on, and read more of the file if needed. They consume nothing.

// scanObject scans the object at i. event reports whether the object is an event: it has an array named Records. For an
// event, end is the index after the opening bracket of that array. For another object, end is the index after the
// object.
func (d *documents) scanObject(i int) (end int, event bool, err error) {
	d.valueStart = i
	i++
	for n := 0; ; n++ {
		if i, err = d.skipSpace(i); err != nil {
			return 0, false, err
		}
		if n == 0 && d.w.buf[i] == '}' {
			return i + 1, false, nil
		}
		name, valueAt, err := d.scanName(i)
		if err != nil {
			return 0, false, err
		}
		if string(name) == "Records" && d.w.buf[valueAt] == '[' {
			return valueAt + 1, true, nil
		}
		if i, err = d.scanValue(valueAt); err != nil {
			return 0, false, err
		}
		if i, err = d.skipSpace(i); err != nil {
			return 0, false, err
		}
		switch d.w.buf[i] {
		case '}':
			return i + 1, false, nil
		case ',':
			i++
		default:
			return 0, false, d.syntaxError(i)
		}
	}
}

// scanMember scans a comma and the member after it, in the rest of an event after its Records. records reports whether
// the member is a second array named Records. If it is, end is the index after the opening bracket of that array. If it
// is not, end is the index after the member.
func (d *documents) scanMember() (end int, records bool, err error) {
	d.valueStart = 0
	i, err := d.skipSpace(1)
	if err != nil {
		return 0, false, err
	}
	name, valueAt, err := d.scanName(i)
	if err != nil {
		return 0, false, err
	}
	if string(name) == "Records" {
		d.addFault(errRecords)
		if d.w.buf[valueAt] == '[' {
			return valueAt + 1, true, nil
		}
	}
	end, err = d.scanValue(valueAt)
	return end, false, err
}

// scanValue scans the value at i, and returns the index after it.
func (d *documents) scanValue(i int) (int, error) {
	if i == 0 {
		d.valueStart = 0
	}
	for {
		end, st := d.scan.scanValue(d.w.buf, i)
		// A number at the end of the buffer may have more digits in the file.
		if st == done && (end < len(d.w.buf) || d.w.eof) {
			return end, nil
		}
		if st != bad && d.w.growFrom(d.valueStart) {
			continue
		}
		d.noteUnclosed()
		if st == bad {
			return 0, d.syntaxError(end)
		}
		return 0, d.cutError()
	}
}

// scanName returns the member name at i, and the index of its value.
func (d *documents) scanName(i int) (name []byte, valueAt int, err error) {
	for {
		valueAt, st := scanName(d.w.buf, i)
		if st == bad {
			return nil, 0, d.syntaxError(valueAt)
		}
		if st == done && valueAt < len(d.w.buf) {
			end, _ := scanString(d.w.buf, i)
			name = d.w.buf[i+1 : end-1]
			if bytes.IndexByte(name, '\\') >= 0 {
				var text string
				if err := json.Unmarshal(d.w.buf[i:end], &text); err != nil {
					return nil, 0, d.syntaxError(i)
				}
				name = []byte(text)
			}
			return name, valueAt, nil
		}
		if !d.w.growFrom(d.valueStart) {
			return nil, 0, d.cutError()
		}
	}
}

// skipSpace returns the index of the first byte from i that is not white space.
func (d *documents) skipSpace(i int) (int, error) {
	for {
		if i = skipSpace(d.w.buf, i); i < len(d.w.buf) {
			return i, nil
		}
		if !d.w.growFrom(d.valueStart) {
			return 0, d.cutError()
		}
	}
}

func (d *documents) syntaxError(i int) error {
	d.failedAt = i
	switch c := d.w.buf[i]; {
	case c == '\n' || c == '\r':
		return errLineEnd
	case c < ' ':
		return errControl
	case len(d.scan.stack) == maxDepth:
		return errDeep
	default:
		return errs.Errorf("broken JSON: unexpected %q", c)
	}
}

func (d *documents) cutError() error {
	d.failedAt = len(d.w.buf)
	return d.w.growError()
}
