package record

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// A record of Kinesis Data Streams for DynamoDB comes in an event of its own:
// kinesis.data is the base64 of a record that has eventID, tableName, recordFormat
// and dynamodb, and no sequence number. It may come twice and late, so its order
// is its creation time (Developer Guide, "Using Kinesis Data Streams to capture
// changes to DynamoDB").

var (
	errData         = errs.New("want the base64 of a record of Kinesis Data Streams for DynamoDB")
	errMilliseconds = errs.New("milliseconds cannot order changes: set the Kinesis destination's ApproximateCreationDateTimePrecision to MICROSECOND")
	errMicroseconds = errs.New("want the time in microseconds since 1970")
)

// The least and the first too large of times in microseconds: of the year 2001, 15
// digits, and of the year 2286. Milliseconds are far below.
const (
	leastMicroseconds = 1e15 - 1e13
	maxMicroseconds   = 1e16
)

// kinesisField is a field of the object under kinesis.
func kinesisField(name []byte) field {
	switch string(name) {
	case "data":
		return fieldData
	case "sequenceNumber":
		return fieldKinesisSequence
	}
	return fieldOther
}

func (r *recordReader) kinesisSequence(i int) int {
	next := r.textField(i, &r.sequence)
	if next >= 0 && (len(r.sequence) > kinesisSequenceWidth || !allDigits(r.sequence)) {
		r.sequence = ""
		return r.Fail(i, errSequenceK)
	}
	return next
}

// fromKinesis reads the record within a Kinesis event, of which c holds the outer
// fields.
func (r *recordReader) fromKinesis(c *Change) bool {
	outer := *c
	data, sequence := r.data, r.sequence
	*c, r.record = Change{StreamARN: outer.StreamARN, Region: outer.Region, Shard: outer.Shard, Sequence: sequence}, record{}
	if sequence == "" {
		return r.failField("kinesis.sequenceNumber", errMissing)
	}
	if data == "" {
		return r.failField("kinesis.data", errMissing)
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return r.failField("kinesis.data", errData)
	}
	r.page.Bytes += len(b)
	// The eventID of the event is shard:sequence; the change's own is inside.
	if shard, _, ok := strings.Cut(outer.EventID, ":"); ok && c.Shard == "" {
		c.Shard = shard
	}
	page := r.B
	r.forget()
	r.B = b
	ok := r.inKinesis(c)
	if !ok && r.Path == "" {
		r.Path = r.Locate(r.At, ddbjson.InRecord)
	}
	r.forget()
	r.B = page
	c.Sequence, c.StreamARN = sequence, outer.StreamARN
	if !ok {
		r.Path = string(ddbjson.AppendBelow([]byte("kinesis.data"), r.Path))
		if errors.Is(r.Err, ddbjson.ErrEnd) || errors.Is(r.Err, ddbjson.ErrToken) {
			r.Err = fmt.Errorf("%w: %w", errData, r.Err)
		}
	}
	return ok
}

func (r *recordReader) inKinesis(c *Change) bool {
	i := r.fields(r.Space(0), c)
	if i >= 0 {
		if i = r.Space(i); i < len(r.B) {
			i = r.Fail(i, ddbjson.ErrTrailing)
		}
	}
	return i >= 0
}

// completeKinesis is complete for a record of Kinesis Data Streams for DynamoDB.
func (r *recordReader) completeKinesis(c *Change) bool {
	r.operation(c)
	c.ViewType = NewAndOldImages // Kinesis Data Streams for DynamoDB knows no other
	switch {
	case !r.seen.has(fieldDynamoDB):
		return r.failField("kinesis.data.dynamodb", errMissing)
	case c.EventName == "":
		return r.failField("kinesis.data.eventName", errMissing)
	case !c.Keys.Exists():
		return r.failField("kinesis.data.dynamodb.Keys", errMissing)
	}
	us, err := r.microseconds()
	if err != nil {
		return r.failField("kinesis.data.dynamodb.ApproximateCreationDateTime", err)
	}
	c.Time = time.UnixMicro(us).UTC()
	c.Version = kinesisVersion(uint64(us), c.Sequence)
	if c.StreamARN != "" {
		c.StreamARN = r.streams.find(c.StreamARN).arn
	}
	if c.Table == "" {
		c.Table = r.o.Table
	}
	if c.Table == "" && r.o.TableInKey {
		return r.failField("kinesis.data.tableName", errMissing)
	}
	if !r.checkImages(c) || !r.key(c) || !r.checkKeys(c) {
		r.Path = "kinesis.data." + r.Path
		return false
	}
	return true
}

func (r *recordReader) microseconds() (int64, error) {
	if len(r.time) == 0 {
		return 0, errMissing
	}
	if r.precision == "MILLISECOND" {
		return 0, errMilliseconds
	}
	us, err := strconv.ParseInt(ddbjson.View(r.time), 10, 64)
	if err != nil { // as 1.7E15
		f, err := strconv.ParseFloat(ddbjson.View(r.time), 64)
		if err != nil || f != float64(int64(f)) {
			return 0, errMicroseconds
		}
		us = int64(f)
	}
	switch {
	case us < 0 || us >= maxMicroseconds:
		return 0, errMicroseconds
	case us < leastMicroseconds && us >= leastMicroseconds/1e4:
		return 0, errMilliseconds
	case us < leastMicroseconds:
		return 0, errMicroseconds
	}
	return us, nil
}
