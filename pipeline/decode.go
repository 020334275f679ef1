package pipeline

import (
	"fmt"
	"sync"
)

// DecoderOptions shape how records become changes.
type DecoderOptions struct {
	StreamARN     string // taken where a record has none. Default: none
	Table         string // taken where neither record nor ARN names one. Default: none
	Shard         string // the shard of every record. Default: unknown
	EpochZero     bool   // accept records without a stream ARN, at epoch 0. Default: such a record is an error
	TableInKey    bool   // prefix canonical keys with the table
	DynamoDBLocal bool   // take {} as the empty map, and count it
}

// Decoder turns the bytes of Lambda events, GetRecords answers, record arrays,
// JSON lines and Kinesis events into pages. It is safe for concurrent use.
//
// It tells two classes of bad input apart. Where the grammar of a record is sound
// and its shape is wrong, the record is a [RecordError] of the page, and the others
// go on. Where the grammar is broken, nobody knows where the next record starts: a
// [FramingError], with the page of what stood before.
type Decoder struct {
	o       DecoderOptions
	given   *stream    // of o.StreamARN
	readers *sync.Pool // of *recordReader, whose scratch memory the next page needs again
}

// NewDecoder is a decoder with these options. A StreamARN that is none of a stream
// is the error of every record that needs it.
func NewDecoder(o DecoderOptions) *Decoder {
	d := &Decoder{o: o, readers: new(sync.Pool)}
	d.given = givenStream(o.StreamARN)
	return d
}

// Of is a decoder with the same options for the records of a shard, which shares d's memory.
func (d *Decoder) Of(streamARN, shard string) *Decoder {
	of := &Decoder{o: d.o, given: d.given, readers: d.readers}
	if of.o.StreamARN, of.o.Shard = streamARN, shard; streamARN != d.o.StreamARN {
		of.given = givenStream(streamARN)
	}
	return of
}

func givenStream(arn string) *stream {
	if arn == "" {
		return nil
	}
	s := parseStream(arn)
	return &s
}

// Decode reads one JSON document: a Lambda event or GetRecords answer
// ({"Records":[...]}), an array of records, or one record. It takes b over. On
// broken grammar it returns the page of what stands before, and a *FramingError.
func (d *Decoder) Decode(b []byte) (*DecodedPage, error) {
	r := d.reader(b)
	defer d.release(r)
	i := r.document(r.space(byteOrderMark(b)))
	if i >= 0 {
		if i = r.space(i); i == len(b) {
			return r.page, nil
		}
		r.fail(i, errTrailing)
	}
	return r.page, r.framingError()
}

var (
	// errTrailing means that input goes on after its document.
	errTrailing = errs.New("something follows the JSON document")
	errNothing  = errs.New("the input is empty")
	errRecords  = errs.New("Records is no array")
)

func (d *Decoder) reader(b []byte) *recordReader {
	r, _ := d.readers.Get().(*recordReader)
	if r == nil {
		r = &recordReader{scanner: scanner{shapes: new(shapes)}, outer: make(outline, 0, 16), inner: make(outline, 0, 16)}
	}
	r.o, r.given = &d.o, d.given
	r.size, r.page = len(b), &DecodedPage{Bytes: len(b)}
	r.b, r.emptyMaps = b, d.o.DynamoDBLocal
	return r
}

// manyAttrs bounds what is kept of a page whose items were very large.
const manyAttrs = 4096

// release takes back the reader of a page. It keeps nothing that the page is made of.
func (d *Decoder) release(r *recordReader) {
	if cap(r.stack) > manyAttrs || len(r.names.slots) > 8*manyAttrs || cap(r.numbers) > manyAttrs {
		return
	}
	r.forget()
	*r = recordReader{
		scanner: scanner{
			stack: r.stack[:0], names: r.names, numbers: r.numbers[:0], shapes: r.shapes,
			slab: r.slab.next(),
		},
		streams: r.streams, outer: r.outer, inner: r.inner, other: r.other,
	}
	d.readers.Put(r)
}

// byteOrderMark is the length of the mark that b starts with, if any.
func byteOrderMark(b []byte) int {
	if len(b) >= 3 && string(b[:3]) == "\xef\xbb\xbf" {
		return 3
	}
	return 0
}

// DecodedPage holds what decoding brings: the records of one input, in order.
type DecodedPage struct {
	Changes    []Change
	Errors     []*RecordError // records that could not be decoded; Index places them among the changes
	Duplicates int            // records left out because the source knows that it delivered them before
	Bytes      int            // memory that the page pins: the bytes that its changes are ranges of
	EmptyMaps  int            // {} taken as the empty map (DecoderOptions.DynamoDBLocal)
}

// RecordError is one record that is no change: its grammar is sound and its shape
// is wrong, or it is a line of broken grammar among JSON lines.
type RecordError struct {
	Index    int    // of the record in its page, 0-based
	Offset   int64  // of the record in its page's input, bytes
	Path     string // where in the record: dynamodb.NewImage.Address.Lines[2]
	Key      Key    // "" where the keys do not decode
	Keys     Image  // the key attributes, where Key is not ""
	Sequence string // "" where it does not decode
	Version  Version
	Raw      []byte
	Err      error
}

// Error names the record, the path and what is wrong there; it shows no data.
func (e *RecordError) Error() string { return e.text(e.Path, e.Err) }

// Redacted is Error with the path up to the attribute, below which names may be data.
func (e *RecordError) Redacted() string { return e.text(e.attribute(), SafeText(e.Err)) }

// Describe is its class, and where in the record it is.
func (e *RecordError) Describe() (class, field string) { return classUndecodable, e.attribute() }

func (e *RecordError) text(path string, cause any) string {
	if path != "" {
		path = ", " + path
	}
	return fmt.Sprintf("record %d (byte %d)%s: %v", e.Index, e.Offset, path, cause)
}

// Unwrap is what is wrong.
func (e *RecordError) Unwrap() error { return e.Err }

// FramingError is input whose JSON grammar is broken.
type FramingError struct {
	Offset int64 // bytes from the start of the input
	Index  int   // of the record in which it broke
	Err    error
}

// Error names the offset and what is wrong there; it shows no data.
func (e *FramingError) Error() string {
	return fmt.Sprintf("record %d, byte %d of the input: %v", e.Index, e.Offset, e.Err)
}

// Redacted is Error.
func (e *FramingError) Redacted() string {
	return fmt.Sprintf("record %d, byte %d of the input: %s", e.Index, e.Offset, SafeText(e.Err))
}

// Describe is its class.
func (e *FramingError) Describe() (class, field string) { return "syntax", "" }

// Unwrap is what is wrong.
func (e *FramingError) Unwrap() error { return e.Err }
