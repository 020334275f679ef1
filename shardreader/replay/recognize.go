package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	headBytes = 64 << 10 // how much of a file is looked at to see what it holds
	maxHead   = 8 << 20  // and whether on lines: those of Lambda events have up to 6 MB
)

// markers are what some record in the head of a file has, whichever way the
// records were saved.
var markers = []string{`"dynamodb"`, `"kinesis"`, `"eventID"`, `"eventName"`, `"Records"`}

// errForeign is about a file that holds no stream records at all.
var errForeign = errors.New("it holds no stream records")

// recognize looks at the start of the file and decides how to read it, without
// consuming a record. An empty file is io.EOF.
func (f *file) recognize() error {
	f.w.fillTo(3)
	if bytes.HasPrefix(f.w.buf, []byte("\ufeff")) {
		f.w.take(3)
	}
	if _, ok := f.w.space(); !ok {
		if f.w.err != nil {
			return &syntaxError{f.w.offset, f.w.line, f.w.err}
		}
		return io.EOF
	}
	for n := headBytes; ; n *= 2 { // a file of records may begin with a long line of something else
		f.w.fillTo(n)
		err := foreign(f.w.buf)
		if err == nil {
			break
		}
		if f.w.eof || n >= maxHead {
			return &syntaxError{f.w.offset, f.w.line, err}
		}
	}
	f.docs.within = inDocuments
	for n := headBytes; ; n *= 2 {
		f.w.fillTo(n)
		lines, known := onLines(f.w.buf, f.w.eof)
		if lines {
			f.docs.within = inLines
		}
		if known || f.w.eof || n >= maxHead {
			return nil
		}
	}
}

// onLines tells whether the documents in head stand on lines of their own, if it
// is known by now: then each line is decoded by itself. Lines before the first whole
// one may be broken, each being one bad record of many. What speaks against it are the
// lines of an array or event that is spread over several, and documents that share
// a line. all tells that nothing follows head.
func onLines(head []byte, all bool) (lines, known bool) {
	for first := true; len(head) > 0; first = false {
		line, rest, ended := bytes.Cut(head, newline)
		if !ended && !all {
			return false, false
		}
		head, line = rest, bytes.TrimSpace(line)
		switch string(line) {
		case "":
			continue
		case "[", "{":
			return false, true // what it holds comes on the next lines
		}
		if line[0] != '{' && line[0] != '[' {
			continue
		}
		d := documents{w: &window{buf: line, eof: true}}
		if line[0] == '{' {
			if end, event, err := d.outline(); err == nil && event && end == len(line) {
				return false, true
			}
		}
		end, err := d.value(0)
		if err != nil {
			continue
		}
		behind, rest := bytes.TrimLeft(line[end:], " \t"), bytes.TrimLeft(rest, " \t\r\n")
		switch {
		case len(behind) > 0 && (!first || behind[0] == '{' || behind[0] == '['):
			return false, true // an array's element, or documents on one line
		case len(rest) == 0:
			return !first, all // one document alone is split, whatever its size
		}
		return first || bytes.IndexByte([]byte("]},"), rest[0]) < 0, true
	}
	return false, all
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
