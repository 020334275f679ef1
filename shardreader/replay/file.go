package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// file reads one input block by block.
type file struct {
	input
	w       *window
	docs    documents
	block   int
	records int64 // found so far, where the file is not JSON lines
	close   func()
}

// block is a run of whole records, copied out of a file and not yet decoded.
type block struct {
	file   string
	lines  bool // bytes are lines as they stand in the file; else they are an array made of its records
	bytes  []byte
	offset int64   // of the first byte in the file, where lines
	line   int64   // of the first byte, where lines
	record int64   // number of the first record in the file, 1-based, where not lines
	starts []start // of each record, where not lines
	behind place
}

// start is where a record of a block stands.
type start struct {
	inBlock int
	inFile  int64
	line    int64
}

// openFile prepares r, the bytes of in as they are on disk, to be read from p on.
func openFile(in input, r io.Reader, closeRaw func(), blockBytes int, p place) (*file, error) {
	plain, closeUnpacker, err := decompressed(r)
	if err != nil {
		closeRaw()
		return nil, err
	}
	memory := blockBytes
	if in.size > 0 {
		memory = int(min(int64(blockBytes), in.size+1)) // it grows where that was packed
	}
	f := &file{
		input:   in,
		block:   blockBytes,
		records: p.Record,
		w:       &window{r: plain, block: memory, offset: p.Offset, line: p.Line},
		close:   func() { closeUnpacker(); closeRaw() },
	}
	f.docs = documents{w: f.w, within: p.Within}
	_, err = io.CopyN(io.Discard, plain, p.Offset)
	if errors.Is(err, io.EOF) {
		err = errors.New("the file is shorter now")
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("going to byte %d, where reading went on last time: %w", p.Offset, err)
	}
	return f, nil
}

// next is the next block; io.EOF at the end. A block may come together with a
// *syntaxError, which ends the file.
func (f *file) next() (*block, error) {
	if f.docs.within == inNothing {
		if err := f.recognize(); err != nil {
			return nil, err
		}
	}
	if f.docs.within == inLines {
		return f.nextLines()
	}
	return f.nextRecords()
}

// nextLines takes whole lines, about a block of them, at least one.
func (f *file) nextLines() (*block, error) {
	f.w.fillTo(f.block)
	end := bytes.LastIndexByte(f.w.buf[:min(f.block, len(f.w.buf))], '\n') + 1
	for from := min(f.block, len(f.w.buf)); end == 0; f.w.fill() {
		if i := bytes.IndexByte(f.w.buf[from:], '\n'); i >= 0 {
			end = from + i + 1
		} else if from = len(f.w.buf); f.w.eof {
			break
		}
	}
	if end == 0 && f.w.err != nil {
		return nil, &syntaxError{f.w.offset, f.w.line, f.w.err}
	}
	if end == 0 {
		end = len(f.w.buf) // the last line needs no line feed
	}
	if end == 0 {
		return nil, io.EOF
	}
	b := &block{file: f.path, lines: true, offset: f.w.offset, line: f.w.line}
	b.bytes = f.w.take(end)
	if len(b.bytes) < f.block/2 {
		b.bytes = bytes.Clone(b.bytes) // the page would pin a whole block
	}
	b.behind = f.place()
	return b, nil
}

// nextRecords takes records out of documents, about a block of them.
func (f *file) nextRecords() (*block, error) {
	size := f.block + f.block/8 // a record more than a block, mostly
	if f.w.eof {
		size = min(size, len(f.w.buf)+1)
	}
	b := &block{file: f.path, record: f.records + 1, bytes: make([]byte, 0, size)}
	var err error
	for len(b.bytes) < f.block && err == nil {
		var r record
		if r, err = f.docs.next(); err == nil {
			b.bytes = append(b.bytes, "[,"[min(len(b.starts), 1)])
			b.starts = append(b.starts, start{len(b.bytes), r.offset, r.line})
			b.bytes = append(b.bytes, r.raw...)
		}
	}
	if len(b.starts) == 0 {
		return nil, err
	}
	if errors.Is(err, io.EOF) {
		err = nil // comes again
	}
	b.bytes = append(b.bytes, ']')
	f.records += int64(len(b.starts))
	b.behind = f.place()
	return b, err
}

// place is where reading goes on.
func (f *file) place() place {
	return place{
		File:   f.path,
		Offset: f.w.offset,
		Line:   f.w.line,
		Record: f.records,
		Within: f.docs.within,
	}
}
