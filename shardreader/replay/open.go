package replay

import "bytes"

// noteOpen notes the brackets that the failed scan left open: a scan from one of them would fail again. It leaves
// out the bracket of an event, whose Records can be read although its end is missing.
func (d *documents) noteOpen() {
	for n, at := range d.scan.stack {
		if n+1 < len(d.scan.stack) && opensRecords(d.w.buf[:d.scan.stack[n+1]+1]) {
			continue
		}
		d.note(at)
	}
}

// note notes that the bracket at i is never closed.
func (d *documents) note(i int) {
	if d.open == nil {
		d.open = make(map[int64]struct{})
	}
	at := d.w.offset + int64(i)
	d.open[at] = struct{}{}
	d.openTo = max(d.openTo, at)
}

// isOpen reports whether the bracket at i is known to be never closed.
func (d *documents) isOpen(i int) bool {
	_, open := d.open[d.w.offset+int64(i)]
	return open
}

// opensRecords reports whether b ends with the opening bracket of an event's Records.
func opensRecords(b []byte) bool {
	const space = " \t\r\n"
	b, array := bytes.CutSuffix(b, []byte{'['})
	b, named := bytes.CutSuffix(bytes.TrimRight(b, space), []byte{':'})
	return array && named && bytes.HasSuffix(bytes.TrimRight(b, space), []byte(`"Records"`))
}

// swallows returns errOpen for an element that is not a record itself and has whole records or events in it. Such
// an element lacks its closing bracket, and a bracket of an outer array or event closed it instead.
func (d *documents) swallows(end int) error {
	if c := d.w.buf[0]; d.within == inDocuments && !d.torn || c != '[' && c != '{' {
		return nil
	}
	if _, around := d.judge(0, end); !around {
		return nil
	}
	d.at = 0
	return errOpen
}

// bracket is an object or array that judge has entered and not left.
type bracket struct {
	at     int
	object bool
	name   []byte // of the current member, in an object
	whole  bool   // it is a record or an event
	holds  bool   // a record or an event is in it
}

// judge reports whether the object or array from i to end, which is valid JSON, is a whole record or event itself, or
// else has some in it. It notes the inner brackets of the latter kind, unless they are in a record. A part of a record
// is never mistaken for a record: each value in it has a type tag. It looks at each byte once.
func (d *documents) judge(i, end int) (whole, around bool) {
	b := d.w.buf[:end]
	var room [8]bracket
	open := room[:0]
	var inner []int
	named := false // the next string is the name of a member
	for i < end {
		c := b[i]
		switch c {
		case '{', '[':
			open = append(open, bracket{at: i, object: c == '{'})
			named = c == '{'
		case '}', ']':
			closed := open[len(open)-1]
			open = open[:len(open)-1]
			around := closed.holds && !closed.whole
			if len(open) > 0 {
				open[len(open)-1].holds = open[len(open)-1].holds || closed.holds || closed.whole
				if around {
					inner = append(inner, closed.at)
				}
				break
			}
			if !closed.whole {
				for _, at := range inner {
					d.note(at)
				}
			}
			return closed.whole, around
		case ',':
			named = open[len(open)-1].object
		case '"':
			to, _ := scanString(b, i)
			if named {
				open[len(open)-1].name = b[i+1 : to-1]
				seeName(open, b[skipSpace(b, skipSpace(b, to)+1):])
				named = false
			}
			i = to
			continue
		}
		i++
	}
	return false, false
}

// seeName notes what the name of the current member makes of the innermost two objects, a record or an event. value is
// the text after the name.
func seeName(open []bracket, value []byte) {
	in := &open[len(open)-1]
	name := string(in.name)
	if name == "Records" && value[0] == '[' {
		in.whole = true
	}
	if len(open) < 2 {
		return
	}
	switch of := &open[len(open)-2]; string(of.name) {
	case "dynamodb":
		of.whole = of.whole || name == "SequenceNumber" || name == "Keys"
	case "kinesis":
		of.whole = of.whole || name == "data"
	}
}
