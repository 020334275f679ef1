package pipelinetest

import (
	"encoding/base64"
	"strings"
)

// Records in the form that the services send. MicrosecondRecord is the data of a Kinesis event.
const (
	Insert = `{"eventID":"07784dc1e1f7e3a0d4aa4d4b7b42c9f8","eventName":"INSERT","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1",` +
		`"dynamodb":{"ApproximateCreationDateTime":1795251660,"Keys":{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"}},` +
		`"NewImage":{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"},"Email":{"S":"a@example.com"}},` +
		`"SequenceNumber":"000000100000000005391461882","SizeBytes":73,"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventSourceARN":"` + StreamARN + `"}`
	Modify = `{"eventID":"17784dc1e1f7e3a0d4aa4d4b7b42c9f8","eventName":"MODIFY","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1",` +
		`"dynamodb":{"ApproximateCreationDateTime":1.79525166E9,"Keys":{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"}},` +
		`"NewImage":{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"},"Email":{"S":"b@example.com"}},` +
		`"OldImage":{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"},"Email":{"S":"a@example.com"}},` +
		`"SequenceNumber":"000000200000000005391461883","SizeBytes":119,"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventSourceARN":"` + StreamARN + `"}`
	TTLDelete = `{"eventID":"27784dc1e1f7e3a0d4aa4d4b7b42c9f8","eventName":"REMOVE","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1",` +
		`"dynamodb":{"ApproximateCreationDateTime":1795251661,"Keys":{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"}},` +
		`"OldImage":{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"},"Email":{"S":"b@example.com"}},` +
		`"SequenceNumber":"000000300000000005391461884","SizeBytes":73,"StreamViewType":"NEW_AND_OLD_IMAGES"},` +
		`"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"},"eventSourceARN":"` + StreamARN + `"}`
	MicrosecondRecord = `{"awsRegion":"us-east-1","eventID":"8d4a4f21-0d3f-4b1b-9d4c-0f3d6f0b8a11","eventName":"INSERT","userIdentity":null,"recordFormat":"application/json","tableName":"Music",` +
		`"dynamodb":{"ApproximateCreationDateTime":1795251660123456,"ApproximateCreationDateTimePrecision":"MICROSECOND","Keys":{"Artist":{"S":"Acme"}},` +
		`"NewImage":{"Artist":{"S":"Acme"},"Year":{"N":"1999"}},"SizeBytes":59},"eventSource":"aws:dynamodb"}`
)

const (
	// KinesisARN is the stream ARN of KinesisEvent.
	KinesisARN = "arn:aws:kinesis:us-east-1:123456789012:stream/music"
	// KinesisSequence is the sequence number of KinesisEvent.
	KinesisSequence = "49590338271490256608559692538361571095921575989136588898"
)

// KinesisEvent returns a record of a Lambda event with this data.
func KinesisEvent(data string) string {
	return `{"kinesis":{"kinesisSchemaVersion":"1.0","partitionKey":"1","sequenceNumber":"` + KinesisSequence +
		`","data":"` +
		base64.StdEncoding.EncodeToString([]byte(data)) +
		`","approximateArrivalTimestamp":1795251660.987},"eventSource":"aws:kinesis","eventVersion":"1.0",` +
		`"eventID":"shardId-000000000006:` + KinesisSequence +
		`","eventName":"aws:kinesis:record","invokeIdentityArn":"arn:aws:iam::123456789012:role/r","awsRegion":"us-east-1","eventSourceARN":"` + KinesisARN + `"}`
}

// With returns the record with the first occurrence of old replaced by new. It panics if the record does not contain
// old.
func With(record, old, new string) string {
	if !strings.Contains(record, old) {
		panic("the record does not contain " + old)
	}
	return strings.Replace(record, old, new, 1)
}

// StreamARN is the stream ARN of the records.
const StreamARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-11-21T09:00:00.000"
