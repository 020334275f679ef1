// Package lines splits a file into blocks of whole lines. The blocks can be decoded concurrently.
package lines

import (
	"bytes"
	"io"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/replay"
)

// errs makes the errors of this package. Each error has a redacted text for logs.
const errs = redact.Class("input")

// MaxLine is the maximum length of a line in bytes. An item has at most 400 KB. Its JSON is several times as long if it
// has binary values or escapes.
const MaxLine = 64 << 20

// Reader splits a file into blocks.
type Reader struct {
	r          io.Reader
	size       int    // size of the next block; blocks grow, because many files are small
	maxSize    int    // size of a block of a large file
	unreturned []byte // bytes that were read and not returned yet
	skip       int64  // number of items that are still to be skipped
	offset     int64  // offset of unreturned in the file
	line       int64  // line number of unreturned, from 1
	err        error  // error of r; io.EOF at its end
}

// New returns a reader of the lines of r in blocks of about size bytes. It skips the first skip items.
func New(r io.Reader, size int, skip int64) *Reader {
	return &Reader{r: r, size: min(size, 64<<10), maxSize: size, skip: skip, line: 1}
}

// Block has whole lines of a file.
type Block struct {
	Bytes  []byte // the reader does not use the bytes again
	Items  int64  // number of lines that are not blank
	Offset int64  // offset of the first byte in the decompressed file
	Line   int64  // line number of the first byte, from 1
}

// ErrShort means that the file has fewer items than were to be skipped.
var ErrShort = errs.New("the file has fewer items now than were read from it before")

// Next returns the next block with items. After the last block it returns io.EOF, or ErrShort. If reading the file
// fails, Next first returns the whole lines before the failure, and then the error.
func (r *Reader) Next() (Block, error) {
	for {
		b, err := r.next()
		switch {
		case pipeline.IsEnd(err) && r.skip > 0:
			return Block{}, ErrShort
		case err != nil:
			return Block{}, err
		case r.skip > 0:
			b = r.skipItems(b)
		}
		if b.Items > 0 {
			return b, nil
		}
	}
}

// fill reads size bytes, or more until there is a whole line. It returns them after the bytes in unreturned. end is the
// index after the last line end; 0 if there is none.
func (r *Reader) fill() (buf []byte, end int, err error) {
	buf = make([]byte, len(r.unreturned), max(r.size, 2*len(r.unreturned)))
	copy(buf, r.unreturned)
	r.unreturned = nil
	end = bytes.LastIndexByte(buf, '\n') + 1
	for r.err == nil && (len(buf) < r.size || end == 0) {
		if len(buf) == cap(buf) {
			if len(buf) >= MaxLine {
				return nil, 0, errs.Errorf("line %d is longer than %d MiB: it is not the JSON of an item", r.line, MaxLine>>20)
			}
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
		}
		before := len(buf)
		var n int
		n, r.err = r.r.Read(buf[before:cap(buf)])
		buf = buf[:before+n]
		if i := bytes.LastIndexByte(buf[before:], '\n'); i >= 0 {
			end = before + i + 1
		}
	}
	return buf, end, nil
}

// next returns the next block, even if all of its lines are blank.
func (r *Reader) next() (Block, error) {
	buf, end, err := r.fill()
	if err != nil {
		return Block{}, err
	}
	if pipeline.IsEnd(r.err) {
		end = len(buf) // the last line may have no line end
	}
	if end == 0 {
		return Block{}, r.err
	}
	b := Block{Bytes: buf[:end:end], Items: countItems(buf[:end]), Offset: r.offset, Line: r.line}
	r.unreturned = buf[end:]
	r.size = min(4*r.size, r.maxSize)
	r.offset += int64(end)
	r.line += int64(bytes.Count(b.Bytes, []byte{'\n'}))
	return b, nil
}

// skipItems removes the items of a block that are to be skipped.
func (r *Reader) skipItems(b Block) Block {
	if b.Items <= r.skip {
		r.skip -= b.Items
		return Block{}
	}
	for r.skip > 0 {
		end := bytes.IndexByte(b.Bytes, '\n') + 1
		n := countItems(b.Bytes[:end])
		b.Bytes, b.Items, b.Offset, b.Line = b.Bytes[end:], b.Items-n, b.Offset+int64(end), b.Line+1
		r.skip -= n
	}
	return b
}

// countItems returns the number of lines that are not blank.
func countItems(b []byte) (count int64) {
	for len(b) > 0 {
		line, rest, _ := bytes.Cut(b, []byte{'\n'})
		isItem := len(line) > 0 && (line[0] == '{' || len(bytes.TrimSpace(line)) > 0)
		if isItem {
			count++
		}
		b = rest
	}
	return count
}

// Page returns the page of the block with a position. Its errors name the file and the line.
func (b Block) Page(d *record.SnapshotDecoder, file string, position pipeline.Position) *pipeline.Page {
	return &pipeline.Page{
		Position: position,
		Page:     record.Page{Bytes: len(b.Bytes)},
		Decode: func() (*record.Page, error) {
			p := d.DecodeLines(b.Bytes)
			replay.LocateErrors(p, b.Bytes, replay.LocationError{File: file, Line: b.Line, Offset: b.Offset})
			return p, nil
		},
	}
}
