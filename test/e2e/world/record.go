package world

import (
	"encoding/json"
	"fmt"
	"time"
)

// At is the creation time of the first record of a test that needs no special time.
var At = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Record returns the record [RecordAt] with a creation time n seconds after [At].
func Record(n int, op, pk, old, new string) []byte {
	return RecordAt(At.Add(time.Duration(n)*time.Second), n, op, pk, old, new)
}

// RecordAt returns the n-th record of a stream, created at that time, for an item with the key PK. Images are
// attributes in DynamoDB JSON, or "" if there is none.
func RecordAt(at time.Time, n int, op, pk, old, new string) []byte {
	key := fmt.Sprintf(`{"PK":{"S":%q}}`, pk)
	images := ""
	for name, attributes := range map[string]string{"OldImage": old, "NewImage": new} {
		if attributes != "" {
			images += fmt.Sprintf(`,%q:{"PK":{"S":%q},%s}`, name, pk, attributes)
		}
	}
	line := fmt.Appendf(nil, `{"eventSource":"aws:dynamodb","eventSourceARN":"arn:aws:dynamodb:eu-central-1:000000000000:table/shop/stream/2026-03-01T00:00:00.000",`+
		`"eventID":"%d","eventName":%q,"dynamodb":{"ApproximateCreationDateTime":%d,"Keys":%s%s,"SequenceNumber":"%021d","StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
		n, op, at.Unix(), key, images, n)
	if !json.Valid(line) {
		panic(string(line))
	}
	return line
}
