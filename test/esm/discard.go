package esm

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Discarded is a batch that a mapping abandoned.
type Discarded struct {
	// Message is what a queue or a topic gets: the place of the records.
	Message []byte
	// Object is what a bucket gets, under the name Key: the same, and the event.
	Object []byte
	Key    string
}

// These are the reasons why a batch is abandoned. The guide shows only the first one.
const (
	exhausted = "RetryAttemptsExhausted"
	tooOld    = "RecordAgeExceeded"
)

// These are the ARNs of the function and the mapping in invocation records.
const (
	functionARN = "arn:aws:lambda:us-east-1:000000000000:function:tablewake"
	mappingID   = "7a3f8c1e-0000-4000-8000-5d2b9a6c4e10"
)

// invocationRecord is the record of an abandoned batch, as the guide shows it ("Retain discarded records for a DynamoDB
// event source in Lambda").
type invocationRecord struct {
	RequestContext struct {
		RequestID   string `json:"requestId"`
		FunctionARN string `json:"functionArn"`
		Condition   string `json:"condition"`
		Invoked     int    `json:"approximateInvokeCount"`
	} `json:"requestContext"`
	ResponseContext struct {
		StatusCode      int    `json:"statusCode"`
		ExecutedVersion string `json:"executedVersion"`
		FunctionError   string `json:"functionError"`
	} `json:"responseContext"`
	Version   string `json:"version"`
	Timestamp string `json:"timestamp"`
	Batch     struct {
		ShardID   string `json:"shardId"`
		Start     string `json:"startSequenceNumber"`
		End       string `json:"endSequenceNumber"`
		From      string `json:"approximateArrivalOfFirstRecord"`
		To        string `json:"approximateArrivalOfLastRecord"`
		Size      int    `json:"batchSize"`
		StreamARN string `json:"streamArn"`
	} `json:"DDBStreamBatchInfo"`
	Payload string `json:"payload,omitempty"`
}

// abandon sends an abandoned batch to the destination.
func (l *lane) abandon(ctx context.Context, batch []*record, why string, invoked int) error {
	l.count(func(r *Report) { r.Discarded += len(batch) })
	if l.Discard == nil {
		return nil
	}
	first, last, now := batch[0], batch[len(batch)-1], time.Now().UTC()
	var r invocationRecord
	r.RequestContext.RequestID = strings.ToLower(rand.Text())
	r.RequestContext.FunctionARN, r.RequestContext.Condition, r.RequestContext.Invoked = functionARN, why, invoked
	r.ResponseContext.StatusCode, r.ResponseContext.ExecutedVersion, r.ResponseContext.FunctionError = 200, "$LATEST", "Unhandled"
	r.Version, r.Timestamp = "1.0", now.Format("2006-01-02T15:04:05.000Z")
	r.Batch.ShardID, r.Batch.StreamARN, r.Batch.Size = l.shard, first.stream, len(batch)
	r.Batch.Start, r.Batch.End = first.sequence, last.sequence
	r.Batch.From, r.Batch.To = first.created.Format(time.RFC3339), last.created.Format(time.RFC3339)
	message, err := json.Marshal(r)
	if err != nil {
		return err
	}
	r.Payload = string(l.event(batch))
	object, err := json.Marshal(r)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("aws/lambda/%s/%s/%s-%s", mappingID, l.shard, now.Format("2006/01/02/2006-01-02T15.04.05"), strings.ToLower(rand.Text()))
	if err := l.Discard(ctx, Discarded{Message: message, Object: object, Key: key}); err != nil {
		return fmt.Errorf("esm: on-failure destination: %w", err)
	}
	return nil
}
