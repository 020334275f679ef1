package record

import (
	"math"
	"strconv"
	"time"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// What may be wrong with a record's fields.
var (
	errRecord       = errs.New("want a record: an object with eventName and dynamodb")
	errEnvelope     = errs.New("an envelope of records, within a record")
	errFieldTwo     = errs.New("stands twice in the record")
	errMissing      = errs.New("is missing")
	errObject       = errs.New("want an object")
	errSequence     = errs.New("want a sequence number of up to 40 digits")
	errSequenceK    = errs.New("want a sequence number of up to 60 digits")
	errCreationTime = errs.New("want a time from 1970 to 9999: seconds since 1970, or RFC 3339")
	errSize         = errs.New("want a number of bytes")
	errNoImage      = errs.New("is missing, though the operation and the view type have it")
	errNoSuch       = errs.New("contradicts the operation, which has no such image")
	errOtherItem    = errs.New("contradicts dynamodb.Keys: the image is of another item")
	errNoARN        = errs.New("the record names no stream, and its version needs one: give the stream's ARN with --stream-arn")
	errNoTable      = errs.New("the record names no table, and keys of several tables need one: give the stream's ARN with --stream-arn")
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
	ddbjson.Scanner
	record
	o       *DecoderOptions
	given   *stream // of o.StreamARN
	page    *Page
	streams streams
	spare   Change // of the record being read, where the page has no room yet
	salvage bool   // go on behind what is unsound
	size    int    // of the whole input, of which b may be the first lines
	start   int    // of the first record

	// Of the record before.
	before          *Change   // nil: none
	region          string    // as it was written: a Change has that of its stream where it is null
	outer, inner    outline   // of its object, and of that under dynamodb
	other           outline   // of any other object: empty
	sameBy, sameEnd int       // up to sameEnd the page equals what is sameBy bytes before
	current         int       // of the record being read, or behind the last one
	keysIn          [2][2]int // indexes of the key attributes in the new and the old image
}

// fields reads the record's object into c. Fields that are null count as absent.
func (r *recordReader) fields(i int, c *Change) int {
	if r.Peek(i) != '{' {
		return r.Fail(i, errRecord)
	}
	return r.object(i, c, outerField, &r.outer)
}

// object reads an object field by field, and notes where they stand in o; null is an
// object without any. What a name means, of says.
func (r *recordReader) object(i int, c *Change, of func(name []byte) field, o *outline) int {
	switch r.Peek(i) {
	case 'n':
		return r.Word(i, "null")
	case '{':
	default:
		return r.Fail(i, errObject)
	}
	if i = r.Space(i + 1); r.Peek(i) == '}' {
		return i + 1
	}
	n := 0
	for done := false; !done; n++ {
		f, at := fieldOther, 0
		if n < len(*o) {
			if i, n, done = r.repeat(*o, i, n, c); done {
				break
			}
			if n < len(*o) {
				if before := &(*o)[n]; r.same(i, before.start) > before.value-before.start {
					f, at = before.field, i+before.value-before.start
				}
			}
		}
		start := i
		if at == 0 {
			var name []byte
			if name, at = r.Field(i); at < 0 {
				return -1
			}
			f = of(name)
		}
		next := r.readField(f, at, c)
		if next < 0 {
			if next = r.salvaged(at); next < 0 {
				return -1
			}
		}
		if i, done = r.Separator(next, '}'); i < 0 {
			return -1
		}
		if n == len(*o) || (*o)[n].field != f {
			o.align(n, f)
		}
		(*o)[n] = outlined{start: start, value: at, end: i, field: f, last: done}
	}
	*o = (*o)[:n]
	return i
}

// salvaged is the position behind the field at i, which is unsound, when what is
// sound beside it is wanted.
func (r *recordReader) salvaged(i int) int {
	if !r.salvage {
		return -1
	}
	return r.Ignore(i)
}

// first notes that a record has a field, and fails where it had it before.
func (r *recordReader) first(f field, i int) bool {
	if r.seen.has(f) {
		r.Fail(i, errFieldTwo)
		return false
	}
	r.seen.add(f)
	return true
}

// readField reads the value of f at i.
func (r *recordReader) readField(f field, i int, c *Change) int {
	if f == fieldOther {
		return r.Ignore(i)
	}
	if f < fieldType && !r.first(f, i) {
		return -1
	}
	switch f {
	case fieldEventID:
		return r.textField(i, &c.EventID)
	case fieldEventName:
		return r.textField(i, &c.EventName)
	case fieldRegion:
		i = r.textField(i, &c.Region)
		r.region = c.Region
		return i
	case fieldARN:
		return r.textField(i, &c.StreamARN)
	case fieldTable:
		return r.textField(i, &c.Table)
	case fieldIdentity:
		return r.object(i, c, identityField, r.unknown())
	case fieldDynamoDB:
		return r.object(i, c, streamField, &r.inner)
	case fieldKinesis:
		return r.object(i, c, kinesisField, r.unknown())
	case fieldRecords:
		return r.Fail(i, errEnvelope)
	case fieldKeys:
		return r.imageField(i, &c.Keys, r.like(item.Image{}, f))
	case fieldNew:
		return r.imageField(i, &c.New, r.like(c.Old, f))
	case fieldOld:
		return r.imageField(i, &c.Old, r.like(c.New, f))
	case fieldSequence:
		return r.sequenceField(i, &c.Sequence)
	case fieldTime:
		return r.timeField(i)
	case fieldPrecision:
		return r.textField(i, &r.precision)
	case fieldView:
		var text string
		i = r.textField(i, &text)
		c.ViewType = viewTypeOf(text)
		return i
	case fieldSize:
		return r.sizeField(i, c)
	case fieldType:
		return r.textField(i, &c.Identity.Type)
	case fieldPrincipal:
		return r.textField(i, &c.Identity.PrincipalID)
	case fieldData:
		return r.textField(i, &r.data)
	default: // fieldKinesisSequence
		return r.kinesisSequence(i)
	}
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
func (r *recordReader) textField(i int, to *string) int {
	if r.Peek(i) == 'n' {
		return r.Word(i, "null")
	}
	if r.Peek(i) != '"' {
		return r.Fail(i, ddbjson.ErrWantString)
	}
	escapes := r.Escapes
	end := r.Text(i + 1)
	if end < 0 {
		return -1
	}
	text := r.B[i+1 : end]
	if r.Escapes != escapes {
		text = ddbjson.TextOf(text)
	}
	*to = ddbjson.View(text)
	return end + 1
}

// imageField reads an item or null.
func (r *recordReader) imageField(i int, to *item.Image, twin item.Image) int {
	if r.Peek(i) == 'n' {
		return r.Word(i, "null")
	}
	as, next := r.Item(i, twin.Bytes(), twin.Index())
	if next >= 0 {
		*to = item.Indexed(r.B[i:next], as)
	}
	return next
}

// like is the item that f is likely to resemble: the record's other image, or else that of
// the record before.
func (r *recordReader) like(other item.Image, f field) item.Image {
	switch {
	case r.EmptyMaps: // which are counted where they are scanned
		return item.Image{}
	case other.Exists() || r.before == nil:
		return other
	case f == fieldKeys:
		return r.before.Keys
	case f == fieldNew && r.before.New.Exists() || !r.before.Old.Exists():
		return r.before.New
	}
	return r.before.Old
}

func (r *recordReader) sequenceField(i int, to *string) int {
	var text string
	next := r.textField(i, &text)
	if next < 0 || text == "" && r.Peek(i) == 'n' {
		return next
	}
	if len(text) > sequenceWidth || !allDigits(text) {
		return r.Fail(i, errSequence)
	}
	*to = text
	return next
}

func (r *recordReader) sizeField(i int, c *Change) int {
	if r.Peek(i) == 'n' {
		return r.Word(i, "null")
	}
	next := r.JsonNumber(i)
	if next < 0 {
		return r.Fail(i, errSize)
	}
	for _, b := range r.B[i:next] {
		if b-'0' > 9 || c.SizeBytes > math.MaxInt64/10-1 {
			return r.Fail(i, errSize)
		}
		c.SizeBytes = c.SizeBytes*10 + int64(b-'0')
	}
	return next
}

// timeField keeps the creation time as it is written: its unit is known only when
// the whole record has been read.
func (r *recordReader) timeField(i int) int {
	next := 0
	switch r.Peek(i) {
	case 'n':
		return r.Word(i, "null")
	case '"':
		next = r.Text(i + 1)
		if next < 0 {
			return -1
		}
		r.time = r.B[i+1 : next]
		if _, err := time.Parse(time.RFC3339Nano, ddbjson.View(r.time)); err != nil {
			return r.Fail(i, errCreationTime)
		}
		return next + 1
	}
	if next = r.JsonNumber(i); next < 0 {
		return r.Fail(i, errCreationTime)
	}
	r.time = r.B[i:next]
	return next
}

// lastSecond is the end of the year 9999.
const lastSecond = 253402300799

// creationTime reads seconds, as 1764000000, 1.764E9 and 1764000000.0 are written
// by the service and its tools, or the text that the AWS CLI prints.
func creationTime(text []byte) (time.Time, error) {
	if len(text) == 10 && allDigits(ddbjson.View(text)) {
		sec := int64(0)
		for _, b := range text {
			sec = sec*10 + int64(b-'0')
		}
		return time.Unix(sec, 0).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, ddbjson.View(text)); err == nil {
		if sec := t.Unix(); sec < 0 || sec > lastSecond { // which a record could not say in seconds
			return time.Time{}, errCreationTime
		}
		return t.UTC(), nil
	}
	sec, err := strconv.ParseFloat(ddbjson.View(text), 64)
	if err != nil || sec < 0 || sec > lastSecond {
		return time.Time{}, errCreationTime
	}
	whole, fraction := math.Modf(sec)
	return time.Unix(int64(whole), int64(math.Round(fraction*1e6))*1e3).UTC(), nil
}
