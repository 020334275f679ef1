package replay

import "bytes"

// noteUnclosed notes the brackets that the failed scan left open, because a scan from one of these brackets would fail
// again. It does not note the bracket of an event: the Records of an event can be read although the event's end is
// missing.
func (d *documents) noteUnclosed() {
	open := d.scan.stack
	for i, at := range open {
		isEvent := i+1 < len(open) && opensRecords(d.w.buf[:open[i+1]+1])
		if !isEvent {
			d.addUnclosed(at)
		}
	}
}

// addUnclosed notes that the brackets at some indexes are never closed.
func (d *documents) addUnclosed(indexes ...int) {
	for _, i := range indexes {
		if d.unclosed == nil {
			d.unclosed = make(map[int64]bool)
		}
		offset := d.w.offset + int64(i)
		d.unclosed[offset] = true
		d.lastUnclosed = max(d.lastUnclosed, offset)
	}
}

// isUnclosed reports whether the bracket at i is known to be never closed.
func (d *documents) isUnclosed(i int) bool { return d.unclosed[d.w.offset+int64(i)] }

// opensRecords reports whether b ends with the opening bracket of an event's Records.
func opensRecords(b []byte) bool {
	const space = " \t\r\n"
	b, hasBracket := bytes.CutSuffix(b, []byte{'['})
	b, hasColon := bytes.CutSuffix(bytes.TrimRight(b, space), []byte{':'})
	return hasBracket && hasColon && bytes.HasSuffix(bytes.TrimRight(b, space), []byte(`"Records"`))
}

// checkClosed returns errOpen if the element from the present position to the index end is not a record, but contains
// whole records or events. Such an element lacks its closing bracket: a bracket of an outer array or event closed it
// instead.
func (d *documents) checkClosed(end int) error {
	isOwnDocument := d.nesting == betweenDocuments && !d.uncertain
	hasBrackets := d.w.buf[0] == '[' || d.w.buf[0] == '{'
	if isOwnDocument || !hasBrackets || d.classify(0, end) != containsRecords {
		return nil
	}
	return d.openError()
}

// openError returns the error of a bracket that nothing closes. The bracket is at the present position, which openError
// stores in failedAt.
func (d *documents) openError() error {
	d.failedAt = 0
	return errOpen
}

// content is what an object or array contains.
type content uint8

const (
	noRecords       content = iota
	wholeRecord             // it is a whole record or event itself
	containsRecords         // it is not a record or event, but contains records or events
)

// bracket is an object or array that is open in classify.
type bracket struct {
	index     int
	isObject  bool
	name      []byte // name of the current member; nil in an array
	isRecord  bool   // the object is a record or an event
	hasRecord bool   // the object or array contains a record or an event
}

// classify classifies the object or array from i to end, which is valid JSON. It also notes inner brackets as unclosed
// if they contain records, but are neither records nor in a record. A part of a record is never mistaken for a record,
// because each value in it has a type tag. classify reads each byte once.
func (d *documents) classify(i, end int) content {
	b := d.w.buf[:end]
	var stack [8]bracket
	open := stack[:0]
	var containers []int // the inner brackets that are no records and contain records
	nameNext := false    // whether the next string is the name of a member
	for ; i < end; i++ {
		switch c := b[i]; c {
		case '{', '[':
			open = append(open, bracket{index: i, isObject: c == '{'})
			nameNext = c == '{'
		case '}', ']':
			closed := open[len(open)-1]
			open = open[:len(open)-1]
			if len(open) == 0 {
				return d.classifyOutermost(closed, containers)
			}
			if closed.isRecord || closed.hasRecord {
				open[len(open)-1].hasRecord = true
			}
			if closed.hasRecord && !closed.isRecord {
				containers = append(containers, closed.index)
			}
		case ',':
			nameNext = open[len(open)-1].isObject
		case '"':
			to, _ := scanString(b, i)
			if nameNext {
				colon := skipSpace(b, to)
				noteName(open, b[i+1:to-1], b[skipSpace(b, colon+1):])
				nameNext = false
			}
			i = to - 1 // the closing quote
		}
	}
	return noRecords
}

// classifyOutermost ends classify at the end of the outermost bracket.
func (d *documents) classifyOutermost(outermost bracket, containers []int) content {
	if outermost.isRecord {
		return wholeRecord
	}
	d.addUnclosed(containers...)
	if outermost.hasRecord {
		return containsRecords
	}
	return noRecords
}

// noteName notes the name of the current member of the innermost object. If the name shows that one of the innermost
// two objects is a record or an event, it marks that object. value is the text from the member's value on.
func noteName(open []bracket, name, value []byte) {
	current := &open[len(open)-1]
	current.name = name
	if string(name) == "Records" && value[0] == '[' {
		current.isRecord = true
	}
	if len(open) < 2 {
		return
	}
	outer := &open[len(open)-2]
	isOfDynamoDB := string(outer.name) == "dynamodb" && (string(name) == "SequenceNumber" || string(name) == "Keys")
	isOfKinesis := string(outer.name) == "kinesis" && string(name) == "data"
	if isOfDynamoDB || isOfKinesis {
		outer.isRecord = true
	}
}
