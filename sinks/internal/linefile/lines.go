package linefile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// Lines yields the lines of r without their '\n'. It leaves out a last line that has no '\n'. A line is valid until the
// next line is yielded. An error ends the sequence.
func Lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		br := bufio.NewReaderSize(r, 64<<10)
		var longLine []byte
		for {
			part, err := br.ReadSlice('\n')
			switch {
			case errors.Is(err, bufio.ErrBufferFull):
				longLine = append(longLine, part...)
				continue
			case err == io.EOF:
				return
			case err != nil:
				yield(nil, err)
				return
			}
			line := part
			if len(longLine) > 0 {
				longLine = append(longLine, part...)
				line = longLine
			}
			if !yield(bytes.TrimSuffix(line, []byte("\n")), nil) {
				return
			}
			longLine = longLine[:0]
		}
	}
}
