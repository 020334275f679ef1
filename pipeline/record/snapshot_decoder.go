package record

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// SnapshotOptions configure a [SnapshotDecoder].
type SnapshotOptions struct {
	// DecoderOptions have the same meaning as for records. StreamARN is the stream that continues after the snapshot.
	// It supplies the epoch, the table and the Region of the items. Without StreamARN, EpochZero must be set.
	DecoderOptions

	// Keys are the names of the key attributes, partition key first. The decoder needs them to find the keys of items.
	// The lines of an incremental export contain their keys.
	Keys []string

	// Layer is the position of the input in a chain of exports. A full export or a scan has 0, and the first
	// incremental export after it has 1. Layer is the sequence number of the changes. Default: 0
	Layer int

	// ViewType names the images in the lines of an incremental export: NewImage or NewAndOldImages. Default:
	// NewAndOldImages
	ViewType ViewType
	Kinesis  bool // the changes after the snapshot come from Kinesis Data Streams, and StreamARN is not parsed
}

// SnapshotDecoder decodes the lines of exports, lines with one item each, and the answers of Scan. It is safe for
// concurrent use.
//
// An item becomes a change with Op [Snapshot] and the item as New. A line of an incremental export becomes an INSERT, a
// MODIFY or a REMOVE. The version of a change has the epoch of the stream, and the layer as sequence number. The
// sequence numbers of a stream are larger, so every change of the stream is newer. With Kinesis, the epoch is a time: 0
// for a snapshot. Raw is the line, or the item in an answer of Scan. [Change.RecordJSON] makes a record from the
// change.
//
// The path of a [RecordError] starts with Item, Keys, NewImage, OldImage or Metadata. In a line that is an item itself,
// it also starts with Item.
type SnapshotDecoder struct {
	decoder  *Decoder
	o        SnapshotOptions
	sequence string
	keysErr  error // set if o.Keys cannot be the names of a key
}

// The errors of lines.
var (
	errLine     = errs.New("want a line of an export in DynamoDB JSON, or an item in DynamoDB JSON")
	errIon      = errs.New("want JSON, and this is text of Amazon Ion: export the table in the format DYNAMODB_JSON")
	errKeyNames = errs.New(
		"the names of the item's key attributes are unknown: give one or two, partition key first, with --keys")
	errKeyMissing = errs.New("the item has no such attribute, and it is part of the key: check --keys")
	errKeyType    = errs.New("a key attribute is an S, an N or a B: check --keys")
	errWriteTime  = errs.New("want microseconds since 1970, as {\"N\":\"1700000000000000\"}")
	errLayer      = errs.New("the line belongs to an incremental export, which needs the full export before it")
)

// NewSnapshotDecoder returns a decoder. If an option is invalid, NewSnapshotDecoder does not fail: each line that needs
// the option is an error.
func NewSnapshotDecoder(o SnapshotOptions) *SnapshotDecoder {
	d := &SnapshotDecoder{o: o, sequence: strconv.Itoa(o.Layer)}
	isOneName := len(o.Keys) == 1
	areTwoNames := len(o.Keys) == 2 && o.Keys[0] != o.Keys[1]
	if !isOneName && !areTwoNames {
		d.keysErr = errKeyNames
	}
	if o.Kinesis {
		o.StreamARN = ""
	}
	d.decoder = NewDecoder(o.DecoderOptions)
	return d
}

// DecodeLines reads JSON lines: {"Item":{...}} of a full export, {"Metadata":{...},"Keys":{...},...} of an incremental
// export, or an item {"PK":{"S":"a"},...}. The page keeps b, which the caller must not change. Lines may be blank and
// may end in CR LF. A line that cannot be decoded becomes a RecordError of the page, and DecodeLines continues with the
// next line. If the grammar of the line is invalid, the error wraps a *FramingError.
func (d *SnapshotDecoder) DecodeLines(b []byte) *Page {
	r := d.newReader(b)
	defer d.decoder.release(r)
	r.lines(b)
	return r.page
}

func (d *SnapshotDecoder) newReader(b []byte) *recordReader {
	r := d.decoder.newReader(b)
	r.snapshot = d
	return r
}

// snapshotOptions returns the options of the snapshot's decoder, or nil if the reader reads records.
func (r *recordReader) snapshotOptions() *SnapshotOptions {
	if r.snapshot == nil {
		return nil
	}
	return &r.snapshot.o
}

// readLineRecord reads the object at i, one of the objects of a line. Most lines have one object.
func (r *recordReader) readLineRecord(i int) int {
	r.form = bareItemForm
	if err := r.checkLineStart(i); err != nil {
		return r.Fail(i, err)
	}
	r.form = r.lineFormAt(i)
	return r.readRecord(i)
}

// readLineFields reads the object at i into c. r.form is the form of the object.
func (r *recordReader) readLineFields(i int, c *Change) int {
	switch r.form {
	case itemForm:
		return r.readItemLine(i, c)
	case changeForm:
		return r.readFields(i, c, lineNames, &r.recordFields)
	}
	return r.imageField(i, &c.New, r.similarImage(item.Image{}, fieldNew))
}

// readItemLine reads {"Item":{...}}. The first member is Item. readItemLine skips other members, but a second Item is
// an error.
func (r *recordReader) readItemLine(i int, c *Change) int {
	isFirst := true
	return r.readObject(i, func(name []byte, at int) int {
		if isFirst {
			isFirst = false
			return r.imageField(at, &c.New, r.similarImage(item.Image{}, fieldNew))
		}
		if string(name) == "Item" {
			return r.Fail(at, errDuplicateField)
		}
		return r.SkipValue(at)
	})
}

// completeLine sets the fields of c that follow from other fields and from the options. It returns false if a field is
// missing or invalid.
func (r *recordReader) completeLine(c *Change) bool {
	if !r.setLineVersion(c) {
		return false
	}
	if r.form == changeForm {
		ok := r.setLineChange(c) && r.setKey(c) && r.checkKeys(c)
		r.ErrPath = strings.TrimPrefix(r.ErrPath, "dynamodb.")
		return ok
	}
	c.Op, c.EventName = Snapshot, "SNAPSHOT"
	if !c.New.Exists() {
		return r.failField("Item", errMissing)
	}
	if !r.setItemKeys(c) {
		return false
	}
	if !r.setKey(c) {
		r.ErrPath = "Item" + strings.TrimPrefix(r.ErrPath, "dynamodb.Keys")
		return false
	}
	return true
}

// setLineVersion sets the stream of the change, and the table, the Region and the version that follow from the stream.
// It returns false if the stream is invalid or the table is missing.
func (r *recordReader) setLineVersion(c *Change) bool {
	s := r.snapshot
	c.Backfill, c.Sequence = true, s.sequence
	if s.o.Kinesis {
		c.StreamARN, c.Table, c.Version = s.o.StreamARN, s.o.Table, kinesisVersion(epochOfSnapshots, s.sequence)
	} else if !r.setStream(c) {
		r.ErrPath = "" // StreamARN is invalid, not the line
		return false
	}
	if c.Table == "" && r.o.TableInKey {
		return r.failField("", errNoTable)
	}
	return true
}

// setLineChange sets the operation and the time of a line of an incremental export.
func (r *recordReader) setLineChange(c *Change) bool {
	if r.snapshot.o.Layer == 0 {
		return r.failField("", errLayer)
	}
	if !c.Keys.Exists() {
		return r.failField("Keys", errMissing)
	}
	c.Op, c.ViewType = r.lineOperation(c)
	c.EventName = c.Op.String()
	if !r.metadata.Exists() {
		return r.failField("Metadata", errMissing)
	}
	const path = "Metadata.WriteTimestampMicros"
	v, ok := r.metadata.Get("WriteTimestampMicros")
	if !ok {
		return r.failField(path, errMissing)
	}
	us, err := strconv.ParseInt(ddbjson.View(v.Raw()), 10, 64)
	if v.Kind() != item.KindN || err != nil || us < 0 || us >= maxMicroseconds {
		return r.failField(path, errWriteTime)
	}
	c.Time = time.UnixMicro(us).UTC()
	return true
}

// lineOperation returns the operation and the view type of a line of an incremental export. The line names neither of
// them, so its images decide (Developer Guide, "DynamoDB table export output format").
func (r *recordReader) lineOperation(c *Change) (Operation, ViewType) {
	hasOld, hasNew := c.Old.Exists(), c.New.Exists()
	onlyNewImages := r.snapshot.o.ViewType == NewImage
	switch {
	case hasOld && hasNew:
		return Modify, NewAndOldImages
	case hasOld:
		return Remove, NewAndOldImages
	case hasNew && onlyNewImages: // or an insert, whose line looks the same
		return Modify, NewImage
	case hasNew:
		return Insert, NewAndOldImages
	case onlyNewImages:
		return Remove, NewImage
	}
	return Remove, NewAndOldImages // the item was inserted and removed since the previous export
}

// setItemKeys sets Keys to the key attributes of the item. keyIndexes predicts the indexes of the key attributes in the
// item. setItemKeys returns false if a key attribute is missing or has a wrong type.
func (r *recordReader) setItemKeys(c *Change) bool {
	if r.snapshot.keysErr != nil {
		return r.failField("", r.snapshot.keysErr)
	}
	names := r.snapshot.o.Keys
	doc, attrs := c.New.Bytes(), c.New.Index()
	for k, name := range names {
		i := r.keyIndexes[0][k]
		if i >= len(attrs) || attrs[i].Text(doc) != name {
			i = slices.IndexFunc(attrs, func(a ddbjson.Attr) bool { return a.Text(doc) == name })
			if i < 0 {
				return r.failKey(name, errKeyMissing)
			}
			r.keyIndexes[0][k] = i
		}
		if attrs[i].Tag() > ddbjson.TagB {
			return r.failKey(name, errKeyType)
		}
	}
	keys, index := ddbjson.AppendPicked(r.Arena.KeyBuffer(), r.keyAttrs[:0], doc, attrs, r.keyIndexes[0][:len(names)])
	c.Keys = item.Indexed(r.Arena.KeepBytes(keys), r.Arena.Keep(index))
	r.keysInArena = true
	return true
}

func (r *recordReader) failKey(name string, err error) bool {
	return r.failField(string(ddbjson.AppendMember([]byte("Item"), name)), err)
}

// recoverLine reads the key attributes of an invalid line. It leaves out invalid ones.
func (r *recordReader) recoverLine(i int, c *Change) {
	switch r.form {
	case changeForm:
		r.readFields(i, c, lineNames, &r.recordFields)
		return
	case itemForm:
		if _, i = r.Field(r.SkipSpace(i + 1)); i < 0 {
			return
		}
	}
	if r.snapshot.keysErr == nil && r.Peek(i) == '{' {
		r.recoverItemKeys(i, c)
	}
}

// recoverItemKeys reads the key attributes of the item at i. It stops at invalid grammar. If a key attribute is
// missing, invalid or repeated, it leaves Keys unset.
func (r *recordReader) recoverItemKeys(i int, c *Change) {
	names := r.snapshot.o.Keys
	keys, found := []byte{'{'}, 0
	r.readObject(i, func(name []byte, at int) int {
		end := r.SkipValue(at)
		if end >= 0 && slices.Contains(names, string(name)) {
			found++
			if found > 1 {
				keys = append(keys, ',')
			}
			keys = append(ddbjson.AppendRaw(append(keys, '"'), string(name)), '"', ':')
			keys = append(keys, r.Input[at:end]...)
		}
		return end
	})
	if found >= len(names) {
		c.Keys, _ = item.Parse(append(keys, '}'))
	}
}

// linePath returns the path of the error in the line at i.
func (r *recordReader) linePath(i int) string {
	if r.form != bareItemForm {
		return r.Locate(i, r.ErrAt, ddbjson.InLine)
	}
	path := r.Locate(i, r.ErrAt, ddbjson.InItem)
	if path != "" {
		path = string(ddbjson.JoinPath([]byte("Item"), path))
	}
	return path
}

// RedecodeLine decodes an undecodable line of a snapshot again, to find the path of its error. It does not need the
// names of the key attributes. text is the error text of the first decoding. RedecodeLine returns the new error and
// true if the new error has a path that text mentions. Otherwise it returns false, also for a record.
func RedecodeLine(line []byte, text string) (*RecordError, bool) {
	for _, isLocal := range []bool{false, true} {
		o := SnapshotOptions{DecoderOptions: DecoderOptions{EpochZero: true, DynamoDBLocal: isLocal}, Layer: 1}
		page := NewSnapshotDecoder(o).DecodeLines(line)
		if len(page.Errors) != 1 || len(page.Changes) > 0 {
			continue
		}
		e := page.Errors[0]
		if e.Path != "" && strings.Contains(text, ", "+e.Path+": ") {
			return e, true
		}
	}
	return nil, false
}
