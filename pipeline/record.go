package pipeline

import (
	"errors"
	"math"
	"strconv"
	"time"
)

// What may be wrong with a record's fields.
var (
	errRecord       = errors.New("want a record: an object with eventName and dynamodb")
	errEnvelope     = errors.New("an envelope of records, within a record")
	errFieldTwo     = errors.New("stands twice in the record")
	errMissing      = errors.New("is missing")
	errObject       = errors.New("want an object")
	errSequence     = errors.New("want a sequence number of up to 40 digits")
	errSequenceK    = errors.New("want a sequence number of up to 60 digits")
	errCreationTime = errors.New("want a time: seconds since 1970, or RFC 3339")
	errSize         = errors.New("want a number of bytes")
	errNoImage      = errors.New("is missing, though the operation and the view type have it")
	errNoSuch       = errors.New("contradicts the operation, which has no such image")
	errNoARN        = errors.New("the record names no stream, and its version needs one: give the stream's ARN with --stream-arn")
	errNoTable      = errors.New("the record names no table, and keys of several tables need one: give the stream's ARN with --stream-arn")
)

// fields is a set of the fields that a record has.
type fields uint32

const (
	fieldEventID fields = 1 << iota
	fieldEventName
	fieldRegion
	fieldARN
	fieldTable
	fieldIdentity
	fieldDynamoDB
	fieldKinesis
	fieldTime
	fieldPrecision
	fieldKeys
	fieldNew
	fieldOld
	fieldSequence
	fieldSize
	fieldView
)

// record is what is kept of the record being read, beside the Change.
type record struct {
	seen      fields
	precision string // of a Kinesis record's creation time
	time      []byte // creation time, as written
	data      string // of a Kinesis event: the record, base64
	sequence  string // of a Kinesis event
}

// recordReader reads the records of one page.
type recordReader struct {
	scanner
	record
	o       *DecoderOptions
	given   *stream // of o.StreamARN
	page    *Page
	streams streams
	keys    []byte // canonical keys, built side by side
	salvage bool   // go on behind what is unsound
	size    int    // of the whole input, of which b may be the first lines
	start   int    // of the first record
	current int    // of the record being read, or behind the last one
}

// fields reads the record's object into c. Fields that are null count as absent.
func (r *recordReader) fields(i int, c *Change) int {
	if r.peek(i) != '{' {
		return r.fail(i, errRecord)
	}
	if i = r.space(i + 1); r.peek(i) == '}' {
		return i + 1
	}
	for done := false; !done; {
		name, at := r.field(i)
		if at < 0 {
			return -1
		}
		next := r.recordField(name, at, c)
		if next < 0 {
			if next = r.salvaged(at); next < 0 {
				return -1
			}
		}
		if i, done = r.separator(next, '}'); i < 0 {
			return -1
		}
	}
	return i
}

// salvaged is the position behind the field at i, which is unsound, when what is
// sound beside it is wanted.
func (r *recordReader) salvaged(i int) int {
	if !r.salvage {
		return -1
	}
	return r.skip(i)
}

// first notes that a record has a field, and fails where it had it before.
func (r *recordReader) first(f fields, i int) bool {
	if r.seen&f != 0 {
		r.fail(i, errFieldTwo)
		return false
	}
	r.seen |= f
	return true
}

func (r *recordReader) recordField(name []byte, i int, c *Change) int {
	switch string(name) {
	case "eventID":
		return r.textField(fieldEventID, i, &c.EventID)
	case "eventName":
		return r.textField(fieldEventName, i, &c.EventName)
	case "awsRegion":
		return r.textField(fieldRegion, i, &c.Region)
	case "eventSourceARN":
		return r.textField(fieldARN, i, &c.StreamARN)
	case "tableName":
		return r.textField(fieldTable, i, &c.Table)
	case "userIdentity":
		if !r.first(fieldIdentity, i) {
			return -1
		}
		return r.object(i, c, (*recordReader).identityField)
	case "dynamodb":
		if !r.first(fieldDynamoDB, i) {
			return -1
		}
		return r.object(i, c, (*recordReader).streamField)
	case "kinesis":
		if !r.first(fieldKinesis, i) {
			return -1
		}
		return r.object(i, c, (*recordReader).kinesisField)
	case "Records":
		return r.fail(i, errEnvelope)
	}
	return r.skip(i)
}

// object reads an object field by field; null is an object without any.
func (r *recordReader) object(i int, c *Change, read func(r *recordReader, name []byte, i int, c *Change) int) int {
	switch r.peek(i) {
	case 'n':
		return r.word(i, "null")
	case '{':
	default:
		return r.fail(i, errObject)
	}
	if i = r.space(i + 1); r.peek(i) == '}' {
		return i + 1
	}
	for done := false; !done; {
		name, at := r.field(i)
		if at < 0 {
			return -1
		}
		next := read(r, name, at, c)
		if next < 0 {
			if next = r.salvaged(at); next < 0 {
				return -1
			}
		}
		if i, done = r.separator(next, '}'); i < 0 {
			return -1
		}
	}
	return i
}

// identityField takes both spellings: Lambda's and the Streams API's.
func (r *recordReader) identityField(name []byte, i int, c *Change) int {
	switch string(name) {
	case "type", "Type":
		return r.textField(0, i, &c.Identity.Type)
	case "principalId", "PrincipalId":
		return r.textField(0, i, &c.Identity.PrincipalID)
	}
	return r.skip(i)
}

func (r *recordReader) streamField(name []byte, i int, c *Change) int {
	switch string(name) {
	case "Keys":
		return r.imageField(fieldKeys, i, &c.Keys)
	case "NewImage":
		return r.imageField(fieldNew, i, &c.New)
	case "OldImage":
		return r.imageField(fieldOld, i, &c.Old)
	case "SequenceNumber":
		return r.sequenceField(i, &c.Sequence)
	case "ApproximateCreationDateTime":
		return r.timeField(i)
	case "ApproximateCreationDateTimePrecision":
		return r.textField(fieldPrecision, i, &r.precision)
	case "StreamViewType":
		var text string
		i = r.textField(fieldView, i, &text)
		c.ViewType = viewTypeOf(text)
		return i
	case "SizeBytes":
		return r.sizeField(i, c)
	}
	return r.skip(i)
}

func viewTypeOf(text string) ViewType {
	for t := KeysOnly; t <= NewAndOldImages; t++ {
		if t.String() == text {
			return t
		}
	}
	return ViewUnknown
}

// textField reads a string or null.
func (r *recordReader) textField(f fields, i int, to *string) int {
	if !r.first(f, i) {
		return -1
	}
	if r.peek(i) == 'n' {
		return r.word(i, "null")
	}
	if r.peek(i) != '"' {
		return r.fail(i, errWantString)
	}
	escapes := r.escapes
	end := r.text(i + 1)
	if end < 0 {
		return -1
	}
	text := r.b[i+1 : end]
	if r.escapes != escapes {
		text = textOf(text)
	}
	*to = view(text)
	return end + 1
}

// imageField reads an item or null.
func (r *recordReader) imageField(f fields, i int, to *Image) int {
	if !r.first(f, i) {
		return -1
	}
	if r.peek(i) == 'n' {
		return r.word(i, "null")
	}
	m, next := r.image(i)
	if next >= 0 {
		*to = m
	}
	return next
}

func (r *recordReader) sequenceField(i int, to *string) int {
	var text string
	next := r.textField(fieldSequence, i, &text)
	if next < 0 || text == "" && r.peek(i) == 'n' {
		return next
	}
	if len(text) > sequenceWidth || !allDigits(text) {
		return r.fail(i, errSequence)
	}
	*to = text
	return next
}

func (r *recordReader) sizeField(i int, c *Change) int {
	if !r.first(fieldSize, i) {
		return -1
	}
	if r.peek(i) == 'n' {
		return r.word(i, "null")
	}
	next := r.jsonNumber(i)
	if next < 0 {
		return r.fail(i, errSize)
	}
	for _, b := range r.b[i:next] {
		if b-'0' > 9 || c.SizeBytes > math.MaxInt64/10-1 {
			return r.fail(i, errSize)
		}
		c.SizeBytes = c.SizeBytes*10 + int64(b-'0')
	}
	return next
}

// timeField keeps the creation time as it is written: its unit is known only when
// the whole record has been read.
func (r *recordReader) timeField(i int) int {
	if !r.first(fieldTime, i) {
		return -1
	}
	next := 0
	switch r.peek(i) {
	case 'n':
		return r.word(i, "null")
	case '"':
		next = r.text(i + 1)
		if next < 0 {
			return -1
		}
		r.time = r.b[i+1 : next]
		if _, err := time.Parse(time.RFC3339Nano, view(r.time)); err != nil {
			return r.fail(i, errCreationTime)
		}
		return next + 1
	}
	if next = r.jsonNumber(i); next < 0 {
		return r.fail(i, errCreationTime)
	}
	r.time = r.b[i:next]
	return next
}

// lastSecond is the end of the year 9999.
const lastSecond = 253402300799

// creationTime reads seconds, as 1764000000, 1.764E9 and 1764000000.0 are written
// by the service and its tools, or the text that the AWS CLI prints.
func creationTime(text []byte) (time.Time, error) {
	if len(text) == 10 && allDigits(view(text)) {
		sec := int64(0)
		for _, b := range text {
			sec = sec*10 + int64(b-'0')
		}
		return time.Unix(sec, 0).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, view(text)); err == nil {
		return t.UTC(), nil
	}
	sec, err := strconv.ParseFloat(view(text), 64)
	if err != nil || sec < 0 || sec > lastSecond {
		return time.Time{}, errCreationTime
	}
	whole, fraction := math.Modf(sec)
	return time.Unix(int64(whole), int64(math.Round(fraction*1e6))*1e3).UTC(), nil
}
