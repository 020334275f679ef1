package record

import (
	"encoding/base64"
	"strconv"
	"time"

	"github.com/tablewake/tablewake/pipeline/internal/ddbjson"
	"github.com/tablewake/tablewake/pipeline/item"
)

// NewestOnly is the name of the first member of each record in an archive that keeps only the newest change of each
// item. Decoders ignore this member. Replays refuse a record with it, because the earlier changes of the record's item
// are missing.
const NewestOnly = "tablewakeNewestOnly"

// RecordJSON returns the record of the change. For a change of a stream, the record is Raw. For a change from a
// snapshot, RecordJSON makes a record that decodes to the change, except that two fields can differ. The view type is
// NEW_IMAGE if the item was InsertedAndRemoved, because decoders refuse a REMOVE that lacks its old image. With
// Kinesis, the time is 0, because the time of a Kinesis record is its version.
func (c *Change) RecordJSON() []byte {
	if !c.Backfill {
		return c.Raw
	}
	decodable := *c
	if c.InsertedAndRemoved() {
		decodable.ViewType = NewImage
	}
	return AppendRecord(make([]byte, 0, len(c.Raw)+len(c.Keys.Bytes())+256), &decodable)
}

// AppendRecord appends a record that decodes to c: a record of the Streams API, or a Kinesis event if the version of c
// belongs to Kinesis. AppendRecord ignores Op, Key, Raw and Index: decoding sets them again.
func AppendRecord(dst []byte, c *Change) []byte {
	if !c.Version.Kinesis() {
		return appendObject(dst, c)
	}
	dst = append(dst, '{')
	if c.Shard != "" {
		dst = appendField(dst, "eventID", c.Shard+":"+c.Sequence)
	}
	dst = appendField(dst, "eventSourceARN", c.StreamARN)
	dst = append(appendName(dst, "kinesis"), '{')
	dst = appendField(dst, "sequenceNumber", c.Sequence)
	dst = append(appendName(dst, "data"), '"')
	dst = base64.StdEncoding.AppendEncode(dst, appendObject(nil, c))
	return append(dst, `"}}`...)
}

// appendObject appends the object of a record.
func appendObject(dst []byte, c *Change) []byte {
	isKinesis := c.Version.Kinesis()
	dst = append(dst, '{')
	dst = appendField(dst, "eventID", c.EventID)
	dst = appendField(dst, "eventName", c.EventName)
	dst = appendField(dst, "awsRegion", c.Region)
	if !isKinesis {
		dst = appendField(dst, "eventSourceARN", c.StreamARN)
	}
	dst = appendField(dst, "tableName", c.Table)
	if c.Identity != (Identity{}) {
		dst = append(appendName(dst, "userIdentity"), '{')
		dst = appendField(dst, "type", c.Identity.Type)
		dst = appendField(dst, "principalId", c.Identity.PrincipalID)
		dst = append(dst, '}')
	}
	dst = append(appendName(dst, "dynamodb"), '{')
	switch {
	case isKinesis: // the time is the epoch, which is 0 for a snapshot
		dst = strconv.AppendUint(appendName(dst, "ApproximateCreationDateTime"), c.Version.Epoch(), 10)
		dst = appendField(dst, "ApproximateCreationDateTimePrecision", "MICROSECOND")
	case c.Time.IsZero():
	case c.Time.Nanosecond() == 0:
		dst = strconv.AppendInt(appendName(dst, "ApproximateCreationDateTime"), c.Time.Unix(), 10)
	default:
		dst = appendField(dst, "ApproximateCreationDateTime", c.Time.UTC().Format(time.RFC3339Nano))
	}
	dst = appendImage(dst, "Keys", c.Keys)
	dst = appendImage(dst, "NewImage", c.New)
	dst = appendImage(dst, "OldImage", c.Old)
	if !isKinesis {
		dst = appendField(dst, "SequenceNumber", c.Sequence)
	}
	if c.SizeBytes != 0 {
		dst = strconv.AppendInt(appendName(dst, "SizeBytes"), c.SizeBytes, 10)
	}
	if c.ViewType != ViewUnknown {
		dst = appendField(dst, "StreamViewType", c.ViewType.String())
	}
	return append(dst, '}', '}')
}

// appendName appends the name of a field and a colon. It first appends a comma unless the field is the first of its
// object.
func appendName(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// appendField appends a field with a text. It appends nothing if text is "".
func appendField(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	dst = append(appendName(dst, name), '"')
	return append(ddbjson.AppendRaw(dst, text), '"')
}

func appendImage(dst []byte, name string, m item.Image) []byte {
	if !m.Exists() {
		return dst
	}
	return m.AppendDynamoDBJSON(appendName(dst, name))
}
