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
	if b := d.w.buf[:end]; d.within == inDocuments && !d.torn || b[0] != '[' && b[0] != '{' || isRecord(b) || !d.noteAround(0, end) {
		return nil
	}
	d.at = 0
	return errOpen
}

// bracket is an object or array that noteAround has entered and not left.
type bracket struct {
	at     int
	object bool
	name   []byte // of the current member, in an object
	whole  bool   // it is a record or an event
	holds  bool   // a record or an event is in it
}

// noteAround reports whether the value from i to end, which is valid JSON, has whole records or events in it and
// is not one itself. It notes the inner brackets for which the same is true. It looks at each byte once.
func (d *documents) noteAround(i, end int) bool {
	b := d.w.buf[:end]
	var open []bracket
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
			if len(open) == 0 {
				return around
			}
			if around {
				d.note(closed.at)
			}
			if closed.holds || closed.whole {
				open[len(open)-1].holds = true
			}
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
	return false
}

// seeName notes what the name of the current member makes of the innermost two objects, a record or an event: see
// isRecord and outline. value is the text after the name.
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
