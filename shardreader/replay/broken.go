package replay

import (
	"fmt"
	"strings"
)

// FileError is a place of a file that is not as it should be, and what of the file was
// not read for it. All else was delivered.
type FileError struct {
	File   string
	Offset int64 // where its grammar broke, bytes from the start, decompressed
	Line   int64 // the same as a line, 1-based
	Unread int64 // bytes from Offset on that were not read; 0: none, or nobody can tell
	More   int   // other places of the file with the same error
	Err    error
}

// Error reads "events.json:12 (byte 4711): cause".
func (e *FileError) Error() string {
	text := fmt.Sprintf("%s:%d (byte %d): %v", e.File, e.Line, e.Offset, e.Err)
	if e.More > 0 {
		text += fmt.Sprintf(" (and at %d more places of the file)", e.More)
	}
	return text
}

// Unwrap is the cause.
func (e *FileError) Unwrap() error { return e.Err }

// BrokenError ends a replay in which files were broken. All that could be read was delivered.
type BrokenError struct {
	Files []*FileError // at least one
}

// Error names each place.
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

// Unwrap gives errors.Is and errors.As the errors of the files.
func (e *BrokenError) Unwrap() []error {
	errs := make([]error, len(e.Files))
	for i, f := range e.Files {
		errs[i] = f
	}
	return errs
}

// PlaceError says where in the inputs a record stands that could not be decoded.
type PlaceError struct {
	File   string
	Line   int64 // of Offset, 1-based
	Offset int64 // of the record, or of the byte at which its grammar broke; from the start of the file, decompressed
	Record int64 // its number in its array or event, 1-based; 0: it is a document by itself
	Err    error
}

// Error reads "stream.jsonl:17 (byte 4711): cause", or "event.json:17 (byte 4711, record 4): cause".
func (e *PlaceError) Error() string { return fmt.Sprintf("%s: %v", e.Place(), e.Err) }

// Place reads "stream.jsonl:17 (byte 4711)", or "event.json:17 (byte 4711, record 4)".
func (e *PlaceError) Place() string {
	if e.Record > 0 {
		return fmt.Sprintf("%s:%d (byte %d, record %d)", e.File, e.Line, e.Offset, e.Record)
	}
	return fmt.Sprintf("%s:%d (byte %d)", e.File, e.Line, e.Offset)
}

// Unwrap is the cause.
func (e *PlaceError) Unwrap() error { return e.Err }
