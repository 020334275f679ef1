package replay

import (
	"bytes"
	"errors"
	"slices"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
)

// page returns the page of a block. The pipeline's preparers call its Decode.
func (s *Source) page(b *block) *pipeline.Page {
	decoder := s.decoder
	return &pipeline.Page{
		Partition: Partition,
		Position:  b.next.encode(),
		Page:      record.Page{Bytes: len(b.bytes)},
		Decode: func() (*record.Page, error) {
			decoded, p := b.decode(decoder)
			if err := s.streams.check(p, decoded.location); err != nil {
				return &record.Page{}, err
			}
			return p, nil
		},
	}
}

// decode decodes the block. It returns the page, and the block that the page refers to. If a line is broken, it returns
// a new block, which has the same records as an array.
func (b *block) decode(decoder *record.Decoder) (*block, *record.Page) {
	if b.isLines {
		if p := b.decodeLines(decoder); p != nil {
			return b, p
		}
		b = b.toRecordArray()
	}
	return b, b.decodeRecords(decoder)
}

// decodeLines decodes lines. It returns nil if the JSON of a line is broken, or if a line has an event in an array. The
// caller then finds the records of such a line with toRecordArray.
func (b *block) decodeLines(decoder *record.Decoder) *record.Page {
	p := decoder.DecodeLines(b.bytes)
	isBroken := func(e *record.RecordError) bool {
		_, isFraming := errors.AsType[*record.FramingError](e.Err)
		isEventInArray := e.Path == "Records"
		return isFraming || isEventInArray
	}
	if slices.ContainsFunc(p.Errors, isBroken) {
		return nil
	}
	LocateErrors(p, b.bytes, LocationError{File: b.file, Line: b.line, Offset: b.offset})
	return p
}

// toRecordArray returns a block with an array of the records of b's lines.
func (b *block) toRecordArray() *block {
	d := documents{nesting: betweenDocuments, w: &window{
		buf: b.bytes, maxRecord: maxRecordBytes, offset: b.offset, line: b.line, eof: true, cutErr: errLineCut,
	}}
	records := &block{file: b.file}
	added := 0 // number of faults for which records has a placeholder
	for {
		r, err := d.next()
		for ; added < len(d.faults); added++ { // locate finds the error of a placeholder
			f := d.faults[added]
			records.add(savedRecord{offset: f.offset, line: f.line, broken: f})
		}
		if err != nil { // io.EOF, because the lines are in memory
			records.bytes = append(records.bytes, ']')
			return records
		}
		records.add(r)
	}
}

var errLineCut = errs.New("the line ends in the middle of a document")

// decodeRecords decodes an array. The positions of the records are known, so a record with broken JSON does not stop
// the decoding of the other records.
func (b *block) decodeRecords(decoder *record.Decoder) *record.Page {
	p, err := decoder.Decode(b.bytes)
	for from := 0; err != nil; { // from is the index of the first record that the last Decode got
		broken := b.brokenRecord(err, from)
		p.Errors = append(p.Errors, broken)
		from = broken.Index + 1
		if from == len(b.starts) {
			break
		}
		var rest *record.Page
		rest, err = decoder.Decode(b.arrayFrom(from))
		appendPage(p, rest, from)
	}
	for _, e := range p.Errors {
		b.locate(e, decoder)
	}
	return p
}

// arrayFrom returns an array of the records from the index from on. The comma before them becomes its bracket.
func (b *block) arrayFrom(from int) []byte {
	array := bytes.Clone(b.bytes[b.starts[from].inBlock-1:])
	array[0] = '['
	return array
}

// brokenRecord returns the error of the record at which Decode stopped with err. Decode got the records from the index
// from on.
func (b *block) brokenRecord(err error, from int) *record.RecordError {
	index := len(b.starts) - 1
	if framing, ok := errors.AsType[*record.FramingError](err); ok {
		index, err = min(from+framing.Index, index), framing.Err
	}
	return &record.RecordError{Index: index, Raw: b.raw(index), Err: err}
}

// locate adds the location to an error of a record. If add wrote a placeholder for the record, the error becomes that
// of the broken text in the file.
func (b *block) locate(e *record.RecordError, decoder *record.Decoder) {
	at := b.starts[e.Index]
	location := &LocationError{File: b.file, Line: at.line, Offset: at.inFile, Record: at.number, Err: e.Err}
	if r, isBroken := b.broken[e.Index]; isBroken {
		// e is the error of the placeholder. DecodeBroken finds the key and the version in the broken text.
		*e = *decoder.DecodeBroken(r.raw, e.Index)
		location.Line, location.Offset, location.Err = r.broken.line, r.broken.offset, r.broken.err
	}
	e.Offset, e.Err = at.inFile, location
}

// raw returns the text of record i.
func (b *block) raw(i int) []byte {
	end := len(b.bytes)
	if i+1 < len(b.starts) {
		end = b.starts[i+1].inBlock
	}
	return b.bytes[b.starts[i].inBlock : end-1] // without the comma or bracket after it
}

// appendPage appends q to p. q is the page of an array that begins with the record from of the block.
func appendPage(p, q *record.Page, from int) {
	for _, c := range q.Changes {
		c.Index += int32(from)
		p.Changes = append(p.Changes, c)
	}
	for _, e := range q.Errors {
		e.Index += from
		p.Errors = append(p.Errors, e)
	}
	p.Duplicates += q.Duplicates
	p.EmptyMaps += q.EmptyMaps
}
