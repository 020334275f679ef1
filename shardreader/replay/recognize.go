package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// markers are what some record in the first block of a file has, whichever way
// the records were saved.
var markers = []string{`"dynamodb"`, `"kinesis"`, `"eventID"`, `"eventName"`, `"Records"`}

// errForeign is a file that holds no stream records at all.
var errForeign = errors.New("it holds no stream records")

// recognize looks at the start of the file and decides how to read it, without
// consuming a record. An empty file is io.EOF.
func (f *file) recognize() error {
	c, ok := f.w.space()
	if !ok {
		if f.w.err != nil {
			return &syntaxError{f.w.offset, f.w.line, f.w.err}
		}
		return io.EOF
	}
	f.w.fillTo(f.block)
	if err := foreign(f.w.buf); err != nil {
		return &syntaxError{f.w.offset, f.w.line, err}
	}
	f.docs.within, f.docs.line = inDocuments, f.w.line
	if c == '[' {
		return nil
	}
	var end int
	var event bool
	err := error(&syntaxError{offset: f.w.offset, line: f.w.line})
	if c == '{' {
		end, event, err = f.docs.outline()
	}
	if broken, ok := errors.AsType[*syntaxError](err); ok {
		// A first line that is broken by itself is one bad record of many.
		if broken.line == f.docs.line && f.objectOnNextLine() {
			f.docs.within = inLines
		}
		return nil
	}
	if !event && f.w.lineAt(end) == f.w.line && f.restOfLineEmpty(end) {
		f.docs.within = inLines
	}
	return nil
}

// restOfLineEmpty tells whether only a line end follows buf[i].
func (f *file) restOfLineEmpty(i int) bool {
	for ; ; i++ {
		if i == len(f.w.buf) {
			f.w.fill()
		}
		if i == len(f.w.buf) || f.w.buf[i] == '\n' {
			return true
		}
		if c := f.w.buf[i]; c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
}

func (f *file) objectOnNextLine() bool {
	i := bytes.IndexByte(f.w.buf, '\n')
	if i < 0 {
		return false
	}
	i = skipSpace(f.w.buf, i)
	return i < len(f.w.buf) && f.w.buf[i] == '{'
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
