package handlers

import "testing"

// The origin of an event is that of its first record that names one, or that of the event's own ARN.
func TestDetectEvent_Origin(t *testing.T) {
	const window = `"eventSourceARN":"` + streamARN + `"`
	for event, want := range map[string]origin{
		`{}`:               "",
		`{"Records":[{}]}`: "",
		`{"Records":[{}, {"eventSource":"aws:kinesis"}]}`: fromKinesis,
		`{"Records":[],` + window + `}`:                   fromDynamoDB,
		`{"Records":[{}],` + window + `}`:                 fromDynamoDB,
		`{` + window + `,"Records":[{}]}`:                 fromDynamoDB,
		`{"tablewake":"redrive"}`:                         fromCommand,
	} {
		if got := detectEvent([]byte(event)).origin; got != want {
			t.Errorf("the origin of %s is %q, and should be %q", event, got, want)
		}
	}
}
