package main

import (
	"cmp"
	"fmt"
	"strings"
)

const (
	region    = "eu-central-1"
	streamARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/bench/stream/2026-01-02T03:04:05.678"
)

// savedRecord is one change. Keys and images are DynamoDB JSON. An image that is "" is missing.
type savedRecord struct {
	Event          string // INSERT, MODIFY or REMOVE
	Keys, Old, New string
	TTL            bool   // the record is a TTL delete
	ID, Sequence   string // "": those of the record's place
	Created        string // ApproximateCreationDateTime, as JSON. "": a default
}

// ttlDelete returns the record of a TTL delete of the item.
func (r savedRecord) ttlDelete() savedRecord {
	r.Event, r.Old, r.New, r.TTL = "REMOVE", cmp.Or(r.Old, r.New), "", true
	return r
}

// appendLambda writes the record in the form of a Lambda event, at place i of a stream.
func (r savedRecord) appendLambda(b *strings.Builder, i int) {
	fmt.Fprintf(b, `{"eventID":%q,"eventName":%q,"eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":%q,`, r.id(i), r.Event, region)
	if r.TTL {
		b.WriteString(`"userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"},`)
	}
	r.appendChange(b, i)
	fmt.Fprintf(b, `,"eventSourceARN":%q}`, streamARN)
}

// appendStreams writes the record in the form of a GetRecords answer, at place i of a stream.
func (r savedRecord) appendStreams(b *strings.Builder, i int) {
	fmt.Fprintf(b, `{"awsRegion":%q,`, region)
	r.appendChange(b, i)
	fmt.Fprintf(b, `,"eventID":%q,"eventName":%q,"eventSource":"aws:dynamodb","eventVersion":"1.1"`, r.id(i), r.Event)
	if r.TTL {
		b.WriteString(`,"userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}`)
	}
	b.WriteByte('}')
}

func (r savedRecord) appendChange(b *strings.Builder, i int) {
	created := r.Created
	if created == "" {
		created = fmt.Sprint(1795251600 + i/1000)
	}
	fmt.Fprintf(b, `"dynamodb":{"ApproximateCreationDateTime":%s,"Keys":%s`, created, r.Keys)
	if r.New != "" {
		fmt.Fprintf(b, `,"NewImage":%s`, r.New)
	}
	if r.Old != "" {
		fmt.Fprintf(b, `,"OldImage":%s`, r.Old)
	}
	sequence := r.Sequence
	if sequence == "" {
		sequence = fmt.Sprintf("%021d", 100000000000000000+i)
	}
	fmt.Fprintf(b, `,"SequenceNumber":%q,"SizeBytes":%d,"StreamViewType":"NEW_AND_OLD_IMAGES"}`, sequence, (len(r.Old)+len(r.New))/2)
}

func (r savedRecord) id(i int) string {
	if r.ID != "" {
		return r.ID
	}
	return fmt.Sprintf("%032x", i)
}
