package record

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
)

// A record of Kinesis Data Streams for DynamoDB is inside a Kinesis event. kinesis.data is the base64 of the record,
// which has eventID, tableName, recordFormat and dynamodb, but no sequence number. Kinesis may deliver records
// repeatedly and out of order, so the creation time orders the records (Developer Guide, "Using Kinesis Data Streams to
// capture changes to DynamoDB").

var (
	errData         = errs.New("want the base64 of a record of Kinesis Data Streams for DynamoDB")
	errMilliseconds = errs.New(
		"milliseconds cannot order changes: set the Kinesis destination's ApproximateCreationDateTimePrecision to MICROSECOND")
	errMicroseconds = errs.New("want the time in microseconds since 1970")
)

// The range of creation times in microseconds: from 2001 (15 digits) to 2286. Times in milliseconds are far smaller.
const (
	minMicroseconds = 1e15 - 1e13
	maxMicroseconds = 1e16 // exclusive

	epochOfSnapshots = 0 // epoch of the changes of a snapshot, which are older than every record
)

func (r *recordReader) kinesisSequenceField(i int) int {
	next := r.textField(i, &r.sequence)
	if next >= 0 && (len(r.sequence) > kinesisSequenceWidth || !allDigits(r.sequence)) {
		r.sequence = ""
		return r.Fail(i, errKinesisSequence)
	}
	return next
}

// readKinesis reads the record inside a Kinesis event. At the call, c has the fields of the event. readKinesis replaces
// them by the fields of the record. It returns false if a part of the event or of the record is invalid.
func (r *recordReader) readKinesis(c *Change) bool {
	event, data, sequence := *c, r.data, r.sequence
	*c = Change{StreamARN: event.StreamARN, Region: event.Region, Shard: event.Shard, Sequence: sequence}
	r.pendingFields = pendingFields{}
	if sequence == "" {
		return r.failField("kinesis.sequenceNumber", errMissing)
	}
	if data == "" {
		return r.failField("kinesis.data", errMissing)
	}
	recordBytes, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return r.failField("kinesis.data", errData)
	}
	r.page.Bytes += len(recordBytes)
	// The eventID of the event is shard:sequence; the eventID of the change is in the data.
	if shard, _, ok := strings.Cut(event.EventID, ":"); ok && c.Shard == "" {
		c.Shard = shard
	}
	isValid := r.readKinesisData(recordBytes, c)
	c.Sequence, c.StreamARN = sequence, event.StreamARN // of the event, even if the data has others
	if isValid {
		return true
	}
	r.ErrPath = string(ddbjson.JoinPath([]byte("kinesis.data"), r.ErrPath))
	if errors.Is(r.Err, ddbjson.ErrEnd) || errors.Is(r.Err, ddbjson.ErrToken) {
		r.Err = fmt.Errorf("%w: %w", errData, r.Err)
	}
	return false
}

// readKinesisData reads the fields of the decoded record b. The input of the reader is b meanwhile. After an error,
// ErrPath is the path in b.
func (r *recordReader) readKinesisData(b []byte, c *Change) bool {
	page := r.Input
	r.forgetPrevious()
	r.Input = b
	defer func() {
		r.forgetPrevious()
		r.Input = page
	}()
	next := r.readRecordFields(r.SkipSpace(0), c)
	if next >= 0 {
		next = r.SkipSpace(next)
		if next == len(b) {
			return true
		}
		r.Fail(next, ddbjson.ErrTrailing)
	}
	if r.ErrPath == "" {
		r.ErrPath = r.Locate(0, r.ErrAt, ddbjson.InRecord)
	}
	return false
}

// validateKinesis does the same as validate, for a record of Kinesis Data Streams for DynamoDB.
func (r *recordReader) validateKinesis(c *Change) bool {
	r.setOperation(c)
	switch {
	case !r.seenFields.has(fieldDynamoDB):
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
	if us != epochOfSnapshots {
		c.Time = time.UnixMicro(us).UTC()
		c.ViewType = NewAndOldImages // the only view type of Kinesis Data Streams for DynamoDB
	}
	c.Version = kinesisVersion(uint64(us), c.Sequence)
	if c.StreamARN != "" {
		c.StreamARN = r.streams.parse(c.StreamARN).arn
	}
	c.Table = cmp.Or(c.Table, r.o.Table)
	if c.Table == "" && r.o.TableInKey {
		return r.failField("kinesis.data.tableName", errMissing)
	}
	if !r.checkImages(c) || !r.setKey(c) || !r.checkKeys(c) {
		r.ErrPath = "kinesis.data." + r.ErrPath
		return false
	}
	return true
}

// microseconds returns the creation time of a Kinesis record in microseconds since 1970, or epochOfSnapshots.
func (r *recordReader) microseconds() (int64, error) {
	if len(r.time) == 0 {
		return 0, errMissing
	}
	if r.precision == "MILLISECOND" {
		return 0, errMilliseconds
	}
	us, err := strconv.ParseInt(ddbjson.View(r.time), 10, 64)
	if err != nil { // the text has a form such as 1.7E15
		f, err := strconv.ParseFloat(ddbjson.View(r.time), 64)
		us = int64(f)
		if err != nil || f != float64(us) {
			return 0, errMicroseconds
		}
	}
	switch {
	case us == epochOfSnapshots, us >= minMicroseconds && us < maxMicroseconds:
		return us, nil
	case us >= minMicroseconds/1e4 && us < minMicroseconds: // in milliseconds, a time from 1973 on
		return 0, errMilliseconds
	}
	return 0, errMicroseconds
}
