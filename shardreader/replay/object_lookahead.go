package replay

import (
	"bytes"
	"encoding/json"
)

// The methods in this file scan the window from an index on, and read more of the file if needed. They consume nothing.

// scanObject scans the object at i. isEvent reports whether it has an array named Records. For an event, end is the
// index after the opening bracket of that array. For another object, end is the index after the object.
func (d *documents) scanObject(i int) (end int, isEvent bool, err error) {
	d.valueStart = i
	i, err = d.skipSpace(i + 1)
	if err != nil {
		return 0, false, err
	}
	if d.w.buf[i] == '}' {
		return i + 1, false, nil
	}
	for {
		name, valueAt, err := d.scanName(i)
		if err != nil {
			return 0, false, err
		}
		if string(name) == "Records" && d.w.buf[valueAt] == '[' {
			return valueAt + 1, true, nil
		}
		next, isLast, err := d.scanMemberValue(valueAt)
		if err != nil || isLast {
			return next, false, err
		}
		i = next
	}
}

// scanMemberValue scans the value of a member, and the comma or bracket after it. It returns the index of the next
// member. If the member is the last one, it returns the index after the object.
func (d *documents) scanMemberValue(i int) (next int, isLast bool, err error) {
	i, err = d.scanValue(i)
	if err != nil {
		return 0, false, err
	}
	i, err = d.skipSpace(i)
	if err != nil {
		return 0, false, err
	}
	switch d.w.buf[i] {
	case '}':
		return i + 1, true, nil
	case ',':
		next, err = d.skipSpace(i + 1)
		return next, false, err
	}
	return 0, false, d.syntaxError(i)
}

// scanMember scans a comma and the member after it, in the rest of an event after its Records. isRecords reports
// whether the member is a second array named Records. Then end is the index after the opening bracket of that array.
func (d *documents) scanMember() (end int, isRecords bool, err error) {
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

// scanValue scans the value at i, and returns the index after it. The caller has set d.valueStart.
func (d *documents) scanValue(i int) (int, error) {
	for {
		end, st := d.scan.scanValue(d.w.buf, i)
		// A number at the end of the buffer may have more digits in the file.
		if st == complete && (end < len(d.w.buf) || d.w.eof) {
			return end, nil
		}
		if st != invalid && d.w.growFrom(d.valueStart) {
			continue
		}
		d.noteUnclosed()
		if st == invalid {
			return 0, d.syntaxError(end)
		}
		return 0, d.cutError()
	}
}

// scanName returns the member name at i, and the index of its value.
func (d *documents) scanName(i int) (name []byte, valueAt int, err error) {
	for {
		valueAt, st := scanName(d.w.buf, i)
		if st == invalid {
			return nil, 0, d.syntaxError(valueAt)
		}
		if st == complete && valueAt < len(d.w.buf) {
			end, _ := scanString(d.w.buf, i)
			name, err := unquoteName(d.w.buf[i:end])
			if err != nil {
				return nil, 0, d.syntaxError(i)
			}
			return name, valueAt, nil
		}
		if !d.w.growFrom(d.valueStart) {
			return nil, 0, d.cutError()
		}
	}
}

// unquoteName returns the text of a string of JSON.
func unquoteName(quoted []byte) ([]byte, error) {
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') < 0 {
		return name, nil
	}
	var text string
	err := json.Unmarshal(quoted, &text)
	return []byte(text), err
}

// skipSpace returns the index of the first byte from i that is not white space.
func (d *documents) skipSpace(i int) (int, error) {
	for {
		i = skipSpace(d.w.buf, i)
		if i < len(d.w.buf) {
			return i, nil
		}
		if !d.w.growFrom(d.valueStart) {
			return 0, d.cutError()
		}
	}
}

// syntaxError returns the error of broken JSON at i, and notes i as failedAt.
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

// cutError returns the error of a scan that needs more text than there is, and notes the end as failedAt.
func (d *documents) cutError() error {
	d.failedAt = len(d.w.buf)
	return d.w.growError()
}
