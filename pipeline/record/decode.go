package record

import (
	"fmt"
	"strings"
	"sync"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
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
func (d *Decoder) Decode(b []byte) (*Page, error) {
	r := d.reader(b)
	defer d.release(r)
	i := r.document(r.Space(byteOrderMark(b)))
	if i >= 0 {
		if i = r.Space(i); i == len(b) {
			return r.page, nil
		}
		r.Fail(i, ddbjson.ErrTrailing)
	}
	return r.page, r.framingError()
}

var (
	errNothing = errs.New("the input is empty")
	errRecords = errs.New("Records is no array")
)

func (d *Decoder) reader(b []byte) *recordReader {
	r, _ := d.readers.Get().(*recordReader)
	if r == nil {
		r = &recordReader{Scanner: ddbjson.Scanner{Shapes: new(ddbjson.Shapes)}, outer: make(outline, 0, 16), inner: make(outline, 0, 16)}
	}
	r.o, r.given = &d.o, d.given
	r.size, r.page = len(b), &Page{Bytes: len(b)}
	r.B, r.EmptyMaps = b, d.o.DynamoDBLocal
	return r
}

// release takes back the reader of a page. It keeps nothing that the page is made of.
func (d *Decoder) release(r *recordReader) {
	if cap(r.Stack) > ddbjson.ManyAttrs || len(r.Names.Slots) > 8*ddbjson.ManyAttrs || cap(r.Numbers) > ddbjson.ManyAttrs {
		return
	}
	r.forget()
	*r = recordReader{
		Scanner: ddbjson.Scanner{
			Stack: r.Stack[:0], Names: r.Names, Numbers: r.Numbers[:0], Shapes: r.Shapes,
			Slab: r.Slab.Next(),
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

// Page holds what decoding brings: the records of one input, in order.
type Page struct {
	Changes    []Change
	Errors     []*RecordError // records that could not be decoded; Index places them among the changes
	Duplicates int            // records left out because the source knows that it delivered them before
	Bytes      int            // memory that the page pins: the bytes that its changes are ranges of
	EmptyMaps  int            // {} taken as the empty map (DecoderOptions.DynamoDBLocal)
}

// RecordError is one record that is no change: its grammar is sound and its shape
// is wrong, or it is a line of broken grammar among JSON lines.
type RecordError struct {
	Index    int        // of the record in its page, 0-based
	Offset   int64      // of the record in its page's input, bytes
	Path     string     // where in the record: dynamodb.NewImage.Address.Lines[2]
	Key      item.Key   // "" where the keys do not decode
	Keys     item.Image // the key attributes, where Key is not ""
	Sequence string     // "" where it does not decode
	Version  Version
	Raw      []byte
	Err      error
}

// Error names the record, the path and what is wrong there; it shows no data.
func (e *RecordError) Error() string { return e.text(e.Path, e.Err) }

// Redacted is Error with the path up to the attribute, below which names may be data.
func (e *RecordError) Redacted() string { return e.text(e.attribute(), redact.SafeText(e.Err)) }

// Describe is its class, and where in the record it is.
func (e *RecordError) Describe() (class, field string) { return ClassUndecodable, e.attribute() }

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
	return fmt.Sprintf("record %d, byte %d of the input: %s", e.Index, e.Offset, redact.SafeText(e.Err))
}

// Describe is its class.
func (e *FramingError) Describe() (class, field string) { return "syntax", "" }

// Unwrap is what is wrong.
func (e *FramingError) Unwrap() error { return e.Err }

// attribute is the path up to the attribute of the item that it goes to: names inside
// maps may be data, and no log shows them.
func (e *RecordError) attribute() string {
	if image, p, ok := e.ImagePath(); ok {
		return string(ddbjson.AppendBelow([]byte(image), string(ddbjson.AppendMember(nil, p.Root()))))
	}
	return e.Path
}

// ImagePath takes the path apart: the image, and the ImagePath in it; false where it goes to none.
func (e *RecordError) ImagePath() (image string, p item.Path, ok bool) {
	outer, rest, ok := strings.Cut(e.Path, "dynamodb.")
	name, path, _ := strings.Cut(rest, "Image")
	switch {
	case !ok || outer != "" && outer != "kinesis.data.":
		return "", item.Path{}, false
	case name == "New" || name == "Old":
		name += "Image"
	case strings.HasPrefix(rest, "Keys"):
		name, path = "Keys", rest[len("Keys"):]
	}
	p, err := item.ParsePath(strings.TrimPrefix(path, "."))
	return outer + "dynamodb." + name, p, err == nil
}

// ClassUndecodable is the class of a [RecordError].
const ClassUndecodable = "undecodable"
