package replay

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/inputs"
)

// file reads one input in blocks.
type file struct {
	inputs.File
	w          *window
	docs       documents
	blockBytes int
	content    io.Closer
}

// block is a sequence of whole records that was copied from a file and is not decoded. It is either a part of the file
// (lines), or an array that was built from records.
type block struct {
	file    string
	isLines bool // bytes are lines of the file; if false, bytes are an array of records
	bytes   []byte
	offset  int64               // offset of the first byte in the file; for lines only
	line    int64               // line number of the first byte; for lines only
	starts  []start             // start of each record of the array
	broken  map[int]savedRecord // broken text by index of the record; the array has a 0 in place of the record
	next    inputPosition
}

// start is the position at which a record of a block begins.
type start struct {
	inBlock int
	inFile  int64
	line    int64
	number  int64
}

// add appends a record to the array.
func (b *block) add(r savedRecord) {
	separator := byte(',')
	if len(b.starts) == 0 {
		separator = '['
	}
	b.bytes = append(b.bytes, separator)
	b.starts = append(b.starts, start{len(b.bytes), r.offset, r.line, r.number})
	if r.broken == nil {
		b.bytes = append(b.bytes, r.raw...)
		return
	}
	if b.broken == nil {
		b.broken = make(map[int]savedRecord)
	}
	r.raw = bytes.Clone(r.raw)
	b.broken[len(b.starts)-1] = r
	b.bytes = append(b.bytes, '0')
}

// openFile opens an input at a position.
func (s *Source) openFile(in inputs.File, from inputPosition) (*file, error) {
	raw, err := s.openRaw(in)
	if err != nil {
		return nil, err
	}
	content, err := inputs.Decompress(in.Path, &inputs.CountingFile{ReadCloser: raw, N: &s.bytesRead})
	if err != nil {
		return nil, err
	}
	plain := s.untilCancelled(content)
	memory := s.options.BlockBytes
	if in.Size > 0 {
		memory = int(min(int64(memory), in.Size+1)) // the window grows if the content was compressed
	}
	f := &file{
		File:       in,
		blockBytes: s.options.BlockBytes,
		w:          &window{r: plain, blockBytes: memory, maxRecord: s.maxRecord, offset: from.Offset, line: from.Line},
		content:    content,
	}
	f.docs = documents{w: f.w, nesting: from.Within, number: from.Record}
	if from.Offset > 0 {
		f.docs.expect, f.w.indent = wantAny, -1
	}
	_, err = io.CopyN(io.Discard, plain, from.Offset)
	if pipeline.IsEnd(err) {
		err = errs.New("the file is shorter now")
	}
	if err != nil {
		_ = content.Close()
		return nil, fmt.Errorf("going to byte %d, where reading continued last time: %w", from.Offset, err)
	}
	return f, nil
}

// openRaw opens the content of a file on disk, or standard input, which stays open.
func (s *Source) openRaw(in inputs.File) (io.ReadCloser, error) {
	if in.Path == "-" {
		read := func(p []byte) (int, error) { return s.stdin.read(s.readCtx, p) }
		return io.NopCloser(readerFunc(read)), nil
	}
	return os.Open(in.Path)
}

// next returns the next block, and io.EOF at the end. A *fault means that the file was refused, and nothing was read.
func (f *file) next() (*block, error) {
	if f.docs.nesting == atFileStart {
		if err := f.checkFormat(); err != nil {
			return nil, err
		}
	}
	if f.docs.nesting == betweenDocuments {
		f.w.fillTo(f.blockBytes)
		if size, ends := f.w.wholeLines(f.blockBytes); size > 0 {
			return f.takeLines(size, ends), nil
		}
	}
	return f.nextRecords()
}

// takeLines returns a block of the next size bytes. They must be whole lines; ends is the number of line ends.
func (f *file) takeLines(size, ends int) *block {
	b := &block{file: f.Path, isLines: true, offset: f.w.offset, line: f.w.line}
	b.bytes = f.w.consumeLines(size, ends)
	if len(b.bytes) < f.blockBytes/2 {
		b.bytes = bytes.Clone(b.bytes) // a short slice would keep the whole block in memory
	}
	b.next = f.position()
	return b
}

// nextRecords returns a block with an array of the next records.
func (f *file) nextRecords() (*block, error) {
	size := f.blockBytes + f.blockBytes/8 // the last record usually ends after the block size
	if f.w.eof {
		size = min(size, len(f.w.buf)+1)
	}
	b := &block{file: f.Path, bytes: make([]byte, 0, size)}
	for len(b.bytes) < f.blockBytes {
		r, err := f.docs.next()
		if pipeline.IsEnd(err) && len(b.starts) > 0 {
			break // the next call gets io.EOF again
		}
		if err != nil {
			return nil, err
		}
		b.add(r)
	}
	b.bytes = append(b.bytes, ']')
	b.next = f.position()
	return b, nil
}

// position returns the position at which reading continues.
func (f *file) position() inputPosition {
	return inputPosition{
		File:   f.Path,
		Offset: f.w.offset,
		Line:   f.w.line,
		Record: f.docs.number,
		Within: f.docs.nesting,
	}
}
