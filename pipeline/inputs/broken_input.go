package inputs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/tablewake/tablewake/pipeline/redact"
)

// errs creates the errors of this package. They carry a redacted text, which logs may contain.
const errs = redact.Class("input")

// ErrCut is the cause in the error of an input that ends too early.
var ErrCut = errs.New("cut short: copy the file again, and repeat the command")

// ErrZeros is the cause in the error of a text that has bytes 0, as a crash or an interrupted copy leaves them. It is
// an [ErrCut].
var ErrZeros = errs.Errorf("the file has bytes 0, so it is %w", ErrCut)

// HoleIndex returns the index of the first hole in a text: 64 or more bytes 0 in a row. Records may be missing there.
// It returns -1 if there is no hole.
func HoleIndex(text []byte) int { return bytes.Index(text, hole) }

// hole is shorter than what a crash or an interrupted copy leaves, and longer than what other broken text has.
var hole = make([]byte, 64)

// ErrEmpty is the cause in the error of an input without any content.
var ErrEmpty = errs.New("it is empty: copy the file again, or leave it out, and repeat the command")

var byteOrderMark = []byte("\ufeff")

// CheckEnd returns an error of [ErrCut] if text ends within a JSON value. The text is the end of a file, from the start
// of a value on. Text that is not JSON does not show that the file was cut.
func CheckEnd(text []byte) error {
	values := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, byteOrderMark)))
	for {
		var value json.RawMessage
		err := values.Decode(&value)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return errs.Errorf("the file ends within a JSON value, so it is %w", ErrCut)
		}
		if err != nil {
			return nil //nolint:nilerr // the end, or text that is not JSON
		}
	}
}
