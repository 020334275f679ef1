package record

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// DecoderOptions configure a [Decoder].
type DecoderOptions struct {
	StreamARN     string // ARN of the stream of a record that has no ARN. Default: none
	Table         string // table of a record if neither the record nor its ARN names one. Default: none
	Shard         string // shard of every record. Default: unknown
	EpochZero     bool   // accept records without a valid stream ARN, at epoch 0. Default: such a record is an error
	TableInKey    bool   // start canonical keys with the table's name
	DynamoDBLocal bool   // accept {} as the empty map, and count it in Page.EmptyMaps
}

// Decoder decodes Lambda events, GetRecords answers, arrays of records, JSON lines and Kinesis events into pages. It is
// safe for concurrent use.
//
// There are two kinds of invalid input. A record with valid grammar and invalid content becomes a [RecordError] of the
// page, and the other records are decoded. After invalid grammar, the start of the next record is unknown. So invalid
// grammar is a [FramingError], and the page has only the records before it.
type Decoder struct {
	o             DecoderOptions
	defaultStream *streamARN // stream of o.StreamARN; nil if there is none
	readers       *sync.Pool // *recordReader values; a new page reuses their scratch memory
}

// NewDecoder returns a decoder. If o.StreamARN is not the ARN of a stream, every record without an ARN of its own is an
// error.
func NewDecoder(o DecoderOptions) *Decoder {
	d := &Decoder{o: o, readers: new(sync.Pool)}
	d.defaultStream = parseDefaultStream(o.StreamARN)
	return d
}

// ForShard returns a decoder for the records of a shard. It has all other options of d, and shares its memory pool.
func (d *Decoder) ForShard(streamARN, shard string) *Decoder {
	forShard := &Decoder{o: d.o, defaultStream: d.defaultStream, readers: d.readers}
	forShard.o.StreamARN, forShard.o.Shard = streamARN, shard
	if streamARN != d.o.StreamARN {
		forShard.defaultStream = parseDefaultStream(streamARN)
	}
	return forShard
}

// parseDefaultStream parses arn. It returns nil if arn is empty.
func parseDefaultStream(arn string) *streamARN {
	if arn == "" {
		return nil
	}
	return new(parseStreamARN(arn))
}

// Decode reads one JSON document: a Lambda event or GetRecords answer ({"Records":[...]}), an array of records, or one
// record. The page keeps b, which the caller must not change. For invalid grammar, Decode returns a *FramingError and a
// page with the records before it.
func (d *Decoder) Decode(b []byte) (*Page, error) {
	r := d.newReader(b)
	defer d.release(r)
	next := r.readInput(r.SkipSpace(byteOrderMark(b)))
	if next < 0 {
		return r.page, r.framingError()
	}
	end := r.SkipSpace(next)
	if end != len(b) {
		return r.page, r.framingErrorAt(end, ddbjson.ErrTrailing)
	}
	return r.page, nil
}

var (
	errNothing = errs.New("the input is empty")
	errRecords = errs.New("Records is no array")
)

// newReader returns a reader of the input b.
func (d *Decoder) newReader(b []byte) *recordReader {
	r, _ := d.readers.Get().(*recordReader)
	if r == nil {
		r = &recordReader{Scanner: ddbjson.NewPageScanner(), recordFields: make(previousFields, 0, 16),
			streamFields: make(previousFields, 0, 16)}
	}
	r.o, r.defaultStream = &d.o, d.defaultStream
	r.inputSize, r.page = len(b), &Page{Bytes: len(b)}
	r.Input, r.AllowEmptyMaps = b, d.o.DynamoDBLocal
	return r
}

// release puts a reader into the pool. It first removes the reader's references to the page, so that the page can be
// freed.
func (d *Decoder) release(r *recordReader) {
	next, ok := r.Recycle()
	if !ok {
		return
	}
	r.forgetPrevious()
	*r = recordReader{Scanner: next, streams: r.streams, recordFields: r.recordFields, streamFields: r.streamFields,
		otherFields: r.otherFields}
	d.readers.Put(r)
}

// byteOrderMark returns the length of the byte order mark at the start of b, or 0.
func byteOrderMark(b []byte) int {
	return len(b) - len(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")))
}

// RecordError is the error of one record that could not be decoded. The record has valid grammar and invalid content,
// or it is one of several JSON lines and has invalid grammar.
type RecordError struct {
	Index    int        // index of the record in its page, 0-based
	Offset   int64      // offset of the record in the input of its page, in bytes
	Path     string     // path of the error in the record, such as dynamodb.NewImage.Address.Lines[2]
	Key      item.Key   // "" if the keys could not be decoded
	Keys     item.Image // key attributes; absent if Key is ""
	Sequence string     // "" if it could not be decoded
	Version  Version
	Raw      []byte
	Snapshot *SnapshotOptions // options of the snapshot's decoder, not to be changed; nil for a record
	Err      error
}

// Error names the record, the path and the problem. It shows no values.
func (e *RecordError) Error() string { return e.text(e.Path, e.Err) }

// Redacted is Error with a shorter path and the redacted text of Err. The path ends at the attribute, because names
// inside maps may be data.
func (e *RecordError) Redacted() string { return e.text(e.attribute(), redact.SafeText(e.Err)) }

// Describe returns the class and the path up to the attribute.
func (e *RecordError) Describe() (class, field string) { return ClassUndecodable, e.attribute() }

func (e *RecordError) text(path string, cause any) string {
	if path != "" {
		path = ", " + path
	}
	return fmt.Sprintf("record %d (byte %d)%s: %v", e.Index, e.Offset, path, cause)
}

// Unwrap returns Err.
func (e *RecordError) Unwrap() error { return e.Err }

// FramingError is the error of input with invalid JSON grammar.
type FramingError struct {
	Offset int64 // bytes from the start of the input
	Index  int   // index of the record with the error
	Err    error
}

// Error names the offset and the problem. It shows no values.
func (e *FramingError) Error() string {
	return fmt.Sprintf("record %d, byte %d of the input: %v", e.Index, e.Offset, e.Err)
}

// Redacted is Error with the redacted text of Err.
func (e *FramingError) Redacted() string {
	return fmt.Sprintf("record %d, byte %d of the input: %s", e.Index, e.Offset, redact.SafeText(e.Err))
}

// Describe returns the class.
func (e *FramingError) Describe() (class, field string) { return "syntax", "" }

// Unwrap returns Err.
func (e *FramingError) Unwrap() error { return e.Err }

// attribute returns Path up to the attribute of the item. Logs show no names inside maps, because these names may be
// data.
func (e *RecordError) attribute() string {
	if image, p, ok := e.ImagePath(); ok {
		return string(ddbjson.JoinPath([]byte(image), string(ddbjson.AppendMember(nil, p.Root()))))
	}
	return e.Path
}

// ImagePath splits Path into two paths: image is the path of the image in the record, such as dynamodb.NewImage, and p
// is the path inside the image. In a line of a snapshot the image is Item, Keys, NewImage, OldImage or Metadata. It
// returns false if Path is not inside an image.
func (e *RecordError) ImagePath() (image string, p item.Path, ok bool) {
	rest, isKinesis := strings.CutPrefix(e.Path, "kinesis.data.dynamodb.")
	if !isKinesis {
		rest = strings.TrimPrefix(e.Path, "dynamodb.")
	}
	outer := e.Path[:len(e.Path)-len(rest)]
	for _, name := range []string{"Keys", "NewImage", "OldImage", "Item", "Metadata"} {
		inside, found := strings.CutPrefix(rest, name)
		if found && inside != "" && (inside[0] == '.' || inside[0] == '[') {
			p, err := item.ParsePath(strings.TrimPrefix(inside, "."))
			return outer + name, p, err == nil
		}
	}
	return "", item.Path{}, false
}

// ClassUndecodable is the class of a [RecordError].
const ClassUndecodable = "undecodable"
