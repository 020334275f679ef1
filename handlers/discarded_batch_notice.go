package handlers

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
)

// failureNotice is the content of a message about batches that Lambda discarded.
type failureNotice struct {
	record  *invocationRecord // nil if the message names objects, or is a test of S3
	objects []objectRef
}

// objectRef is the address of an object in S3.
type objectRef struct{ bucket, key, version string }

// String returns a text for logs. The text has the key of the object only if Lambda wrote the object, because the keys
// of other objects may contain keys of items.
func (r objectRef) String() string {
	if strings.HasPrefix(r.key, "aws/lambda/") {
		return "object " + r.key + " of bucket " + r.bucket
	}
	return "an object of bucket " + r.bucket
}

// invocationRecord is Lambda's record of a discarded batch (Lambda Developer Guide, "Retaining discarded batch records
// for a DynamoDB data source in Lambda"). Only a record in an S3 object has the payload, which is the event.
type invocationRecord struct {
	DynamoDB *batchInfo      `json:"DDBStreamBatchInfo"`
	Kinesis  *batchInfo      `json:"KinesisBatchInfo"`
	Payload  json.RawMessage `json:"payload"`
}

// batchInfo is the position of a discarded batch in its stream.
type batchInfo struct {
	ShardID   string    `json:"shardId"`
	First     string    `json:"startSequenceNumber"`
	Last      string    `json:"endSequenceNumber"`
	From      time.Time `json:"approximateArrivalOfFirstRecord"`
	To        time.Time `json:"approximateArrivalOfLastRecord"`
	Size      int       `json:"batchSize"`
	StreamARN string    `json:"streamArn"`
}

// messageBody has the fields of all kinds of messages. The fields that are set show the kind of the message.
type messageBody struct {
	invocationRecord

	Type     string `json:"Type"` // SNS
	TopicARN string `json:"TopicArn"`
	Message  string `json:"Message"`

	Event   string         `json:"Event"` // S3
	Records []notification `json:"Records"`

	ID     string `json:"id"` // a dead letter
	Class  string `json:"class"`
	Action string `json:"tablewake"`
}

// notification is a record of an S3 event notification.
type notification struct {
	Source string `json:"eventSource"`
	Name   string `json:"eventName"`
	S3     struct {
		Bucket struct {
			Name string `json:"name"`
		} `json:"bucket"`
		Object struct {
			Key     string `json:"key"` // escaped as in a URL's query
			Version string `json:"versionId"`
		} `json:"object"`
	} `json:"s3"`
}

var (
	errDeadLetter = errs.New(
		"the message is a dead letter of a pipeline, not a batch that Lambda discarded: deliver it with `tablewake redrive`, and give the event source mapping's on-failure destination a queue of its own")
	errForeign = errs.New(
		"the message names no batch that Lambda discarded: look at it in the queue's console, and send to this queue only the on-failure destination of an event source mapping, or s3:ObjectCreated:* of its bucket")
	errOtherS3Event = errs.New(
		"the message is about an S3 event other than s3:ObjectCreated:*: narrow the bucket's notification to that, and delete the message")
)

// parseNotice parses the body of a message. The result is empty for the test event of S3.
func parseNotice(text []byte) (failureNotice, error) {
	b, err := parseBody(text)
	if err != nil {
		return failureNotice{}, err
	}
	if b.Type == "Notification" && b.TopicARN != "" { // SNS without raw delivery
		b, err = parseBody([]byte(b.Message))
		if err != nil {
			return failureNotice{}, err
		}
	}
	switch {
	case b.DynamoDB != nil || b.Kinesis != nil:
		return failureNotice{record: &b.invocationRecord}, nil
	case b.Event == "s3:TestEvent": // S3 sends this event once, when the notification is set up
		return failureNotice{}, nil
	case len(b.Records) > 0:
		return objectsIn(b.Records)
	case b.ID != "" && b.Class != "":
		return failureNotice{}, errDeadLetter
	}
	return failureNotice{}, errForeign
}

// parseBody decodes the body of a message.
func parseBody(text []byte) (*messageBody, error) {
	b := &messageBody{}
	err := json.Unmarshal(text, b)
	if err == nil {
		return b, nil
	}
	if strings.HasPrefix(string(text), "H4sI") { // gzip in base64: a large dead letter
		return nil, errDeadLetter
	}
	return nil, errForeign
}

// objectsIn returns the objects that a notification names.
func objectsIn(records []notification) (notice failureNotice, _ error) {
	for _, r := range records {
		if r.Source != "aws:s3" {
			return failureNotice{}, errForeign
		}
		if !strings.HasPrefix(r.Name, "ObjectCreated:") {
			return failureNotice{}, errOtherS3Event
		}
		bucket := r.S3.Bucket.Name
		key, err := url.QueryUnescape(r.S3.Object.Key)
		if err != nil || key == "" || bucket == "" {
			return failureNotice{}, errForeign
		}
		notice.objects = append(notice.objects, objectRef{bucket: bucket, key: key, version: r.S3.Object.Version})
	}
	return notice, nil
}

// origin returns the service that the batch came from.
func (r *invocationRecord) origin() origin {
	if r.Kinesis != nil {
		return fromKinesis
	}
	return fromDynamoDB
}

// hasSizeOf reports whether the records of the batch's event are the whole batch, as far as its size is known.
func (r *invocationRecord) hasSizeOf(b *eventRecords) bool {
	sizeIsKnown := r.DynamoDB != nil && r.DynamoDB.Size > 0
	if sizeIsKnown {
		return b.size() == r.DynamoDB.Size
	}
	return b.size() > 0
}

// event returns the event of the batch, or nil if the record does not contain the event.
func (r *invocationRecord) event() []byte {
	if len(r.Payload) == 0 || string(r.Payload) == "null" {
		return nil
	}
	isEscaped := r.Payload[0] == '"'
	if !isEscaped {
		return r.Payload
	}
	var event string
	if json.Unmarshal(r.Payload, &event) != nil || event == "" {
		return nil
	}
	return []byte(event)
}

// check returns nil if b has all fields that a fetch needs. Otherwise the error names the missing or wrong field.
func (b *batchInfo) check() error {
	switch {
	case !record.IsSequence(b.First):
		return errs.New("the record of a discarded batch has no valid startSequenceNumber")
	case !record.IsSequence(b.Last):
		return errs.New("the record of a discarded batch has no valid endSequenceNumber")
	case record.CompareSequence(b.First, b.Last) > 0:
		return errs.New("the record of a discarded batch has a startSequenceNumber above its endSequenceNumber")
	case b.ShardID == "" || b.StreamARN == "":
		return errs.New("the record of a discarded batch names no shardId or no streamArn")
	}
	return nil
}
