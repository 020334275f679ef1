package streamtest

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Record is a record to put. Images and keys are DynamoDB JSON. The stream's view type defines which images are sent.
type Record struct {
	Event     string // Default: INSERT without Old, REMOVE without New, otherwise MODIFY
	Keys      string // required, unless Raw is set
	Old, New  string // Default: none
	Principal string // PrincipalId of the userIdentity, whose Type is Service. Default: no userIdentity
	Raw       string // whole record as it is sent; it must contain a sequence number. Default: made from the other fields
}

// appendJSON appends the JSON that GetRecords returns for the record. createdAt is in Unix seconds.
func (r Record) appendJSON(dst []byte, n sequence, createdAt int64, view record.ViewType) []byte {
	if r.Raw != "" {
		return append(dst, r.Raw...)
	}
	dst = append(dst, `{"awsRegion":"eu-central-1","eventID":"`...)
	dst = appendID(dst, n)
	dst = append(dst, `","eventName":`...)
	dst = quote(dst, cmp.Or(r.Event, eventName(r.Old, r.New)))
	dst = append(dst, `,"eventSource":"aws:dynamodb","eventVersion":"1.1","dynamodb":{"ApproximateCreationDateTime":`...)
	dst = strconv.AppendInt(dst, createdAt, 10)
	dst = append(append(dst, `,"Keys":`...), cmp.Or(r.Keys, "{}")...)
	size := len(r.Keys)
	if r.New != "" && view.HasNew() {
		dst = append(append(dst, `,"NewImage":`...), r.New...)
		size += len(r.New)
	}
	if r.Old != "" && view.HasOld() {
		dst = append(append(dst, `,"OldImage":`...), r.Old...)
		size += len(r.Old)
	}
	dst = append(dst, `,"SequenceNumber":"`...)
	dst = n.append(dst)
	dst = append(dst, `","SizeBytes":`...)
	dst = strconv.AppendInt(dst, int64(size), 10)
	dst = append(append(dst, `,"StreamViewType":"`...), view.String()...)
	dst = append(dst, `"}`...)
	if r.Principal != "" {
		dst = append(dst, `,"userIdentity":{"PrincipalId":`...)
		dst = quote(dst, r.Principal)
		dst = append(dst, `,"Type":"Service"}`...)
	}
	return append(dst, '}')
}

// eventName returns the event of a write that changed an item from before to after. before is "" if the item did not
// exist before the write, and after is "" if the write removed it.
func eventName(before, after string) string {
	switch {
	case before == "":
		return "INSERT"
	case after == "":
		return "REMOVE"
	}
	return "MODIFY"
}

// appendID appends an event id: 32 hexadecimal digits that look random. Different records have different ids, because
// both steps of the mixing can be undone.
func appendID(dst []byte, n sequence) []byte {
	mixed := uint64(n)
	for range 2 {
		mixed = (mixed ^ mixed>>31) * 0x9e3779b97f4a7c15
		dst = hex.AppendEncode(dst, binary.BigEndian.AppendUint64(nil, mixed))
	}
	return dst
}
