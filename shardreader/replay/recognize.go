package replay

import (
	"bytes"
	"fmt"
)

const (
	headBytes = 64 << 10 // how much of a file is looked at first to see what it holds
	maxHead   = 8 << 20  // and at most
)

// markers are what some record in the head of a file has, whichever way the
// records were saved.
var markers = []string{`"dynamodb"`, `"kinesis"`, `"eventID"`, `"eventName"`, `"Records"`}

// errForeign is about a file that holds no stream records at all.
var errForeign = errs.New("it holds no stream records")

// recognize looks at the start of the file, and refuses one that holds something else. An
// empty file is io.EOF.
func (f *file) recognize() error {
	f.docs.within = inDocuments
	if _, ok := f.docs.peek(); !ok {
		return f.docs.end()
	}
	for n := headBytes; ; n *= 2 { // a file of records may begin with a long line of something else
		f.w.fillTo(n)
		err := foreign(f.w.buf)
		if err == nil {
			break
		}
		if f.w.eof || n >= maxHead {
			if f.w.err != nil {
				err = f.w.err
			}
			return &fault{offset: f.w.offset, line: f.w.line, err: err}
		}
	}
	return nil
}

// foreign is an error that tells what head is, where it is no start of saved records.
func foreign(head []byte) error {
	head = bytes.TrimLeft(head, " \t\r\n")
	if opensWith(head, "Item") {
		return fmt.Errorf("%w: it is data of a DynamoDB export (items, not changes): replay takes stream records", errForeign)
	}
	if bytes.Contains(head, []byte(`"WriteTimestampMicros"`)) && (opensWith(head, "Metadata") || opensWith(head, "Keys")) {
		return fmt.Errorf("%w: it is data of an incremental DynamoDB export: replay takes stream records", errForeign)
	}
	for _, m := range markers {
		if bytes.Contains(head, []byte(m)) {
			return nil
		}
	}
	if rest, ok := bytes.CutPrefix(head, []byte("[")); ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("]")) {
		return nil // an array of no records
	}
	if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) {
		return fmt.Errorf("%w that can be read: it is UTF-16, as PowerShell writes it; save it as UTF-8", errForeign)
	}
	looks := "it is no JSON"
	switch first, _, _ := bytes.Cut(head, newline); {
	case head[0] == '{' || head[0] == '[':
		looks = "its JSON has none of a record's members"
	case bytes.Count(first, []byte(",")) > 1:
		looks = "it looks like CSV"
	}
	return fmt.Errorf("%w: %s; wanted are JSON lines, arrays, Lambda events or get-records output", errForeign, looks)
}

// opensWith tells whether head is an object whose first member is called name.
func opensWith(head []byte, name string) bool {
	rest, ok := bytes.CutPrefix(head, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(`"`+name+`"`))
}
