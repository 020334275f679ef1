package replay

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/pipeline/record"
)

// FileError is a fault in a file. The rest of the file was delivered.
type FileError struct {
	File   string
	Offset int64 // offset of the fault in the decompressed file
	Line   int64 // line number of Offset, from 1
	Unread int64 // number of bytes from Offset on that were not read; 0 if none or unknown
	More   int   // number of other positions in the file with the same error
	Err    error
}

// Error returns "events.json:12 (byte 4711): cause".
func (e *FileError) Error() string {
	text := fmt.Sprintf("%s:%d (byte %d): %v", e.File, e.Line, e.Offset, e.Err)
	if e.More > 0 {
		text += fmt.Sprintf(" (and at %d more places of the file)", e.More)
	}
	return text
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// BrokenError ends a replay of broken files. All records that could be read were delivered.
type BrokenError struct {
	Files []*FileError // at least one
}

// Error lists the first 20 files.
func (e *BrokenError) Error() string {
	if len(e.Files) == 1 {
		return "input is broken at " + e.Files[0].Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "input is broken at %d places:", len(e.Files))
	for i, f := range e.Files {
		if i == 20 {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Files)-i)
			break
		}
		b.WriteString("\n  " + f.Error())
	}
	return b.String()
}

// Unwrap returns the errors of the files.
func (e *BrokenError) Unwrap() []error {
	errs := make([]error, len(e.Files))
	for i, f := range e.Files {
		errs[i] = f
	}
	return errs
}

// LocationError is the error of a record, with the record's location in the inputs.
type LocationError struct {
	File   string
	Line   int64 // line number of Offset, from 1
	Offset int64 // offset of the record or of the first broken byte, in the decompressed file
	Record int64 // number of the record in its array or event, from 1; 0 if the record is a document itself
	Err    error
}

// Error returns "stream.jsonl:17 (byte 4711): cause", or "event.json:17 (byte 4711, record 4): cause".
func (e *LocationError) Error() string { return fmt.Sprintf("%s: %v", e.Location(), e.Err) }

// Location returns "stream.jsonl:17 (byte 4711)", or "event.json:17 (byte 4711, record 4)".
func (e *LocationError) Location() string {
	if e.Record > 0 {
		return fmt.Sprintf("%s:%d (byte %d, record %d)", e.File, e.Line, e.Offset, e.Record)
	}
	return fmt.Sprintf("%s:%d (byte %d)", e.File, e.Line, e.Offset)
}

// Unwrap returns the cause.
func (e *LocationError) Unwrap() error { return e.Err }

// LocateErrors adds the location to each error of a page that was decoded from lines. start is the location of the
// first line.
func LocateErrors(p *record.Page, lines []byte, start LocationError) {
	at := int64(0)
	for _, e := range p.Errors {
		start.Line += int64(bytes.Count(lines[at:e.Offset], newline))
		at = e.Offset
		e.Offset += start.Offset
		e.Err = &LocationError{File: start.File, Line: start.Line, Offset: e.Offset, Err: e.Err}
	}
}
