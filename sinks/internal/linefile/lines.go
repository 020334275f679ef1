package linefile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// Lines yields the lines of r without their '\n'. It leaves out a last line that has no '\n'. A line is valid until the
// next one is pulled. A pulled error ends the sequence.
func Lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		br := bufio.NewReaderSize(r, 64<<10)
		var long []byte
		for {
			part, err := br.ReadSlice('\n')
			switch {
			case errors.Is(err, bufio.ErrBufferFull):
				long = append(long, part...)
				continue
			case err == io.EOF:
				return
			case err != nil:
				yield(nil, err)
				return
			}
			line := part
			if len(long) > 0 {
				long = append(long, part...)
				line = long
			}
			if !yield(bytes.TrimSuffix(line, []byte("\n")), nil) {
				return
			}
			long = long[:0]
		}
	}
}
