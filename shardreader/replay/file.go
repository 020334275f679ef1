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
	w     *window
	docs  documents
	block int
	close func()
}

// block is a run of whole records, copied out of a file and not yet decoded.
type block struct {
	file   string
	lines  bool // bytes are lines as they are in the file; else they are an array made of its records
	bytes  []byte
	offset int64               // of the first byte in the file, where lines
	line   int64               // of the first byte, where lines
	starts []start             // of each record, where not lines
	broken map[int]savedRecord // what is no record; the array has a 0 in its place
	behind place
}

// start is where a record of a block begins.
type start struct {
	inBlock int
	inFile  int64
	line    int64
	number  int64
}

// add adds a record to those of an array.
func (b *block) add(r savedRecord) {
	b.bytes = append(b.bytes, "[,"[min(len(b.starts), 1)])
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

// openFile prepares r, the bytes of in as they are on disk, to be read from p on.
func openFile(in input, r io.Reader, closeRaw func(), interruptible func(io.Reader) io.Reader, blockBytes, most int, p place) (*file, error) {
	plain, closeUnpacker, err := decompressed(r)
	if err != nil {
		closeRaw()
		return nil, err
	}
	plain = interruptible(plain)
	memory := blockBytes
	if in.size > 0 {
		memory = int(min(int64(blockBytes), in.size+1)) // it grows where that was packed
	}
	f := &file{
		input: in,
		block: blockBytes,
		w:     &window{r: plain, block: memory, most: most, offset: p.Offset, line: p.Line},
		close: func() { closeUnpacker(); closeRaw() },
	}
	f.docs = documents{w: f.w, within: p.Within, number: p.Record}
	if p.Offset > 0 {
		f.docs.expect, f.w.indent = either, -1
	}
	_, err = io.CopyN(io.Discard, plain, p.Offset)
	if errors.Is(err, io.EOF) {
		err = errs.New("the file is shorter now")
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("going to byte %d, where reading went on last time: %w", p.Offset, err)
	}
	return f, nil
}

// next is the next block; io.EOF at the end. A *fault ends the file, of which nothing is read.
func (f *file) next() (*block, error) {
	if f.docs.within == inNothing {
		if err := f.recognize(); err != nil {
			return nil, err
		}
	}
	if f.docs.within == inDocuments {
		f.w.fillTo(f.block)
		if n, ends := f.w.lines(f.block); n > 0 {
			return f.takeLines(n, ends), nil
		}
	}
	return f.nextRecords()
}

// takeLines takes n bytes of lines, with so many line ends.
func (f *file) takeLines(n, ends int) *block {
	b := &block{file: f.path, lines: true, offset: f.w.offset, line: f.w.line}
	b.bytes = f.w.takeLines(n, ends)
	if len(b.bytes) < f.block/2 {
		b.bytes = bytes.Clone(b.bytes) // the page would pin a whole block
	}
	b.behind = f.place()
	return b
}

// nextRecords takes records out of documents, about a block of them.
func (f *file) nextRecords() (*block, error) {
	size := f.block + f.block/8 // a record more than a block, mostly
	if f.w.eof {
		size = min(size, len(f.w.buf)+1)
	}
	b := &block{file: f.path, bytes: make([]byte, 0, size)}
	for len(b.bytes) < f.block {
		r, err := f.docs.next()
		if errors.Is(err, io.EOF) && len(b.starts) > 0 {
			break // it comes again
		}
		if err != nil {
			return nil, err
		}
		b.add(r)
	}
	b.bytes = append(b.bytes, ']')
	b.behind = f.place()
	return b, nil
}

// place is where reading goes on.
func (f *file) place() place {
	return place{
		File:   f.path,
		Offset: f.w.offset,
		Line:   f.w.line,
		Record: f.docs.number,
		Within: f.docs.within,
	}
}
