package replay

import "bytes"

// noteOpen notes the brackets that the scan that failed has left open: from them on it
// fails again. An event is read without its end.
func (d *documents) noteOpen() {
	for n, at := range d.scan.stack {
		if n+1 < len(d.scan.stack) && opensRecords(d.w.buf[:d.scan.stack[n+1]+1]) {
			continue
		}
		d.note(at)
	}
}

// note notes that nothing closes the bracket at i.
func (d *documents) note(i int) {
	if d.open == nil {
		d.open = make(map[int64]struct{})
	}
	at := d.w.offset + int64(i)
	d.open[at] = struct{}{}
	d.openTo = max(d.openTo, at)
}

// isOpen tells whether nothing closes the bracket at i, as far as it is known.
func (d *documents) isOpen(i int) bool {
	_, open := d.open[d.w.offset+int64(i)]
	return open
}

// opensRecords tells whether b ends with the bracket of an event's Records.
func opensRecords(b []byte) bool {
	const space = " \t\r\n"
	b, array := bytes.CutSuffix(b, []byte{'['})
	b, named := bytes.CutSuffix(bytes.TrimRight(b, space), []byte{':'})
	return array && named && bytes.HasSuffix(bytes.TrimRight(b, space), []byte(`"Records"`))
}

// swallows is the error of an element that is no record, and holds whole records or events up
// to its end: the element's own end is missing, and the end of what it is within closes it.
func (d *documents) swallows(end int) error {
	if b := d.w.buf[:end]; d.within == inDocuments && !d.torn || b[0] != '[' && b[0] != '{' || isRecord(b) || !d.noteAround(0, end) {
		return nil
	}
	d.at = 0
	return errOpen
}

// bracket is an object or array that is open where noteAround stands.
type bracket struct {
	at     int
	object bool
	name   []byte // of the object's member at hand
	whole  bool   // it is a record or an event
	holds  bool   // one is in it
}

// noteAround tells whether the value from i to end, whose grammar is sound, holds whole records
// or events and is none, and notes the brackets in it of which that is so. It looks at each byte once.
func (d *documents) noteAround(i, end int) bool {
	b := d.w.buf[:end]
	var open []bracket
	named := false // the name of a member comes
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

// seeName notes what the name of the innermost object's member, before value, makes the
// objects: see isRecord and outline.
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
