package record

import (
	"math"
	"strconv"
	"time"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// The errors of a record's fields.
var (
	errRecord          = errs.New("want a record: an object with eventName and dynamodb")
	errEnvelope        = errs.New("an envelope of records, within a record")
	errDuplicateField  = errs.New("occurs twice in the record")
	errMissing         = errs.New("is missing")
	errObject          = errs.New("want an object")
	errSequence        = errs.New("want a sequence number of up to 40 digits")
	errKinesisSequence = errs.New("want a sequence number of up to 60 digits")
	errCreationTime    = errs.New("want a time from 1970 to 9999: seconds since 1970, or RFC 3339")
	errSize            = errs.New("want a number of bytes")
	errNoImage         = errs.New("is missing, though the operation and the view type have it")
	errUnexpectedImage = errs.New("contradicts the operation, which has no such image")
	errOtherItem       = errs.New("contradicts dynamodb.Keys: the image is of another item")
	errNoARN           = errs.New(
		"the record names no stream, and its version needs one: give the stream's ARN with --stream-arn")
	errNoTable = errs.New(
		"the record names no table, and keys of several tables need one: give the stream's ARN with --stream-arn")
)

// pendingFields has the fields of a record that the reader can decode only when it has seen all fields.
type pendingFields struct {
	seenFields  fields
	precision   string     // unit of a Kinesis record's creation time
	time        []byte     // creation time, as written
	data        string     // base64 of the record in a Kinesis event
	sequence    string     // sequence number of a Kinesis event
	metadata    item.Image // Metadata of a line of an incremental export
	keysInArena bool       // the bytes of Keys are in the arena, not in the page
}

// recordReader reads the records of one page.
type recordReader struct {
	ddbjson.Scanner
	pendingFields
	o                 *DecoderOptions
	defaultStream     *streamARN       // stream of o.StreamARN; nil if there is none
	snapshot          *SnapshotDecoder // decoder of a snapshot's lines; nil if the input has records
	form              lineForm         // form of the line that is being read
	page              *Page
	streams           streamCache
	scratch           Change // the change that is being read while page.Changes is full
	skipInvalidFields bool
	inputSize         int // bytes of the whole input; Input may be only its first lines
	firstRecordAt     int // position of the first record
	recordAt          int // position of the record that is being read, or the position after the last record

	// Predictions from the previous record.
	previous                *Change         // nil if there is none
	previousRegion          string          // awsRegion as written; Change.Region may come from the ARN instead
	recordFields            previousFields  // fields of the record's object
	streamFields            previousFields  // fields of the object under dynamodb
	otherFields             previousFields  // fields of any other object; always empty
	equalDistance, equalEnd int             // the bytes before equalEnd equal those equalDistance bytes earlier
	keyAttrs                [2]ddbjson.Attr // scratch memory of setItemKeys
	keyIndexes              [2][2]int       // indexes of the key attributes in the new and the old image
}

// readRecordFields reads the object of a record into c. A field that is null counts as absent.
func (r *recordReader) readRecordFields(i int, c *Change) int {
	if r.Peek(i) != '{' {
		return r.Fail(i, errRecord)
	}
	return r.readFields(i, c, recordNames, &r.recordFields)
}

// readFields reads the fields of an object, and keeps their positions in previous. null is an object without fields.
// names has the field of a name.
func (r *recordReader) readFields(i int, c *Change, names map[string]field, previous *previousFields) int {
	switch r.Peek(i) {
	case 'n':
		return r.Word(i, "null")
	case '{':
	default:
		return r.Fail(i, errObject)
	}
	i = r.SkipSpace(i + 1)
	if r.Peek(i) == '}' {
		return i + 1
	}
	n := 0 // number of fields so far, and entry of the next field in previous
	for ended := false; !ended; n++ {
		if n < len(*previous) {
			if i, n, ended = r.takeEqualFields(*previous, i, n, c); ended {
				break
			}
		}
		start := i
		f, valueAt := r.readName(*previous, n, i, names)
		if valueAt < 0 {
			return -1
		}
		next := r.readField(f, valueAt, c)
		if next < 0 && r.skipInvalidFields {
			next = r.SkipValue(valueAt)
		}
		if next < 0 {
			return -1
		}
		if i, ended = r.Separator(next, '}'); i < 0 {
			return -1
		}
		if n == len(*previous) || (*previous)[n].field != f {
			previous.align(n, f)
		}
		(*previous)[n] = previousField{start: start, value: valueAt, end: i, field: f, last: ended}
	}
	*previous = (*previous)[:n]
	return i
}

// claimField marks a field as seen. It fails if the field was already seen.
func (r *recordReader) claimField(f field, i int) bool {
	if r.seenFields.has(f) {
		r.Fail(i, errDuplicateField)
		return false
	}
	r.seenFields.add(f)
	return true
}

// readField reads the value of f at i.
func (r *recordReader) readField(f field, i int, c *Change) int {
	if f == fieldOther {
		return r.SkipValue(i)
	}
	if !repeatable.has(f) && !r.claimField(f, i) {
		return -1
	}
	switch f {
	case fieldEventID:
		return r.textField(i, &c.EventID)
	case fieldEventName:
		return r.textField(i, &c.EventName)
	case fieldRegion:
		i = r.textField(i, &c.Region)
		r.previousRegion = c.Region
		return i
	case fieldARN:
		return r.textField(i, &c.StreamARN)
	case fieldTable:
		return r.textField(i, &c.Table)
	case fieldIdentity:
		return r.readFields(i, c, identityNames, r.noPreviousFields())
	case fieldDynamoDB:
		return r.readFields(i, c, streamNames, &r.streamFields)
	case fieldKinesis:
		return r.readFields(i, c, kinesisNames, r.noPreviousFields())
	case fieldMetadata:
		return r.imageField(i, &r.metadata, item.Image{})
	case fieldRecords:
		return r.Fail(i, errEnvelope)
	case fieldKeys:
		return r.imageField(i, &c.Keys, r.similarImage(item.Image{}, f))
	case fieldNew:
		return r.imageField(i, &c.New, r.similarImage(c.Old, f))
	case fieldOld:
		return r.imageField(i, &c.Old, r.similarImage(c.New, f))
	case fieldSequence:
		return r.sequenceField(i, &c.Sequence)
	case fieldTime:
		return r.timeField(i)
	case fieldPrecision:
		return r.textField(i, &r.precision)
	case fieldView:
		var text string
		i = r.textField(i, &text)
		c.ViewType = ViewTypeOf(text)
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
		return r.kinesisSequenceField(i)
	}
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
	text := r.Input[i+1 : end]
	if r.Escapes != escapes {
		text = ddbjson.TextOf(text)
	}
	*to = ddbjson.View(text)
	return end + 1
}

// imageField reads an item or null. similar is an image that the item probably resembles. Only speed depends on
// similar.
func (r *recordReader) imageField(i int, to *item.Image, similar item.Image) int {
	if r.Peek(i) == 'n' {
		return r.Word(i, "null")
	}
	attrs, next := r.Item(i, similar.Bytes(), similar.Index())
	if next >= 0 {
		*to = item.Indexed(r.Input[i:next], attrs)
	}
	return next
}

// similarImage returns an image that the image f probably resembles. If the other image of the record was already read,
// similarImage returns it. Otherwise it returns the image f of the previous record, or the other image of that record
// if there is no image f. The result may be the zero Image.
func (r *recordReader) similarImage(other item.Image, f field) item.Image {
	if r.AllowEmptyMaps { // equal bytes are skipped, but each {} in them must be counted
		return item.Image{}
	}
	if other.Exists() || r.previous == nil {
		return other
	}
	if f == fieldKeys {
		return r.previous.Keys
	}
	first, second := &r.previous.Old, &r.previous.New
	if f == fieldNew {
		first, second = second, first
	}
	if first.Exists() {
		return *first
	}
	return *second
}

func (r *recordReader) sequenceField(i int, to *string) int {
	if r.Peek(i) == 'n' {
		return r.Word(i, "null")
	}
	var text string
	next := r.textField(i, &text)
	if next < 0 {
		return -1
	}
	if !IsSequence(text) {
		return r.Fail(i, errSequence)
	}
	*to = text
	return next
}

func (r *recordReader) sizeField(i int, c *Change) int {
	if r.Peek(i) == 'n' {
		return r.Word(i, "null")
	}
	next := r.JSONNumber(i)
	if next < 0 {
		return r.Fail(i, errSize)
	}
	for _, b := range r.Input[i:next] {
		if b-'0' > 9 || c.SizeBytes > math.MaxInt64/10-1 {
			return r.Fail(i, errSize)
		}
		c.SizeBytes = c.SizeBytes*10 + int64(b-'0')
	}
	return next
}

// timeField keeps the creation time as written, because its unit is known only at the end of the record.
func (r *recordReader) timeField(i int) int {
	switch r.Peek(i) {
	case 'n':
		return r.Word(i, "null")
	case '"':
		end := r.Text(i + 1)
		if end < 0 {
			return -1
		}
		r.time = r.Input[i+1 : end]
		if _, err := time.Parse(time.RFC3339Nano, ddbjson.View(r.time)); err != nil {
			return r.Fail(i, errCreationTime)
		}
		return end + 1
	}
	next := r.JSONNumber(i)
	if next < 0 {
		return r.Fail(i, errCreationTime)
	}
	r.time = r.Input[i:next]
	return next
}

// maxUnixSecond is the last second of the year 9999.
const maxUnixSecond = 253402300799

// creationTime parses a creation time. The service and its tools write Unix seconds, as 1764000000, 1.764E9 or
// 1764000000.0. The AWS CLI prints RFC 3339 text.
func creationTime(text []byte) (time.Time, error) {
	if len(text) == 10 && allDigits(ddbjson.View(text)) { // the usual form, at a third of the time
		sec := int64(0)
		for _, b := range text {
			sec = sec*10 + int64(b-'0')
		}
		return time.Unix(sec, 0).UTC(), nil
	}
	sec, err := strconv.ParseFloat(ddbjson.View(text), 64)
	if err == nil && sec >= 0 && sec <= maxUnixSecond {
		whole, fraction := math.Modf(sec)
		return time.Unix(int64(whole), int64(math.Round(fraction*1e6))*1e3).UTC(), nil
	}
	t, err := time.Parse(time.RFC3339Nano, ddbjson.View(text))
	if err != nil || t.Unix() < 0 || t.Unix() > maxUnixSecond {
		return time.Time{}, errCreationTime
	}
	return t.UTC(), nil
}
