package handlers

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// told is what a message tells of.
type told struct {
	record  *invocation // nil where it names objects
	objects []place
}

// place is where an object is.
type place struct{ bucket, key, version string }

// String shows the key of an object that Lambda wrote. Others' keys may be made of items' keys.
func (p place) String() string {
	if strings.HasPrefix(p.key, "aws/lambda/") {
		return "object " + p.key + " of bucket " + p.bucket
	}
	return "an object of bucket " + p.bucket
}

// invocation is Lambda's record of a batch that it gave up (Lambda Developer Guide, "Retaining
// discarded batch records for a DynamoDB data source in Lambda"). Its payload, which is the
// event, stands in objects of S3 only.
type invocation struct {
	DynamoDB *position       `json:"DDBStreamBatchInfo"`
	Kinesis  *position       `json:"KinesisBatchInfo"`
	Payload  json.RawMessage `json:"payload"`
}

// position is where in a stream the batch was.
type position struct {
	ShardID   string    `json:"shardId"`
	First     string    `json:"startSequenceNumber"`
	Last      string    `json:"endSequenceNumber"`
	From      time.Time `json:"approximateArrivalOfFirstRecord"`
	To        time.Time `json:"approximateArrivalOfLastRecord"`
	Size      int       `json:"batchSize"`
	StreamARN string    `json:"streamArn"`
}

// body is a message of any kind that is told apart.
type body struct {
	invocation

	Type     string `json:"Type"` // SNS
	TopicARN string `json:"TopicArn"`
	Message  string `json:"Message"`

	Event   string         `json:"Event"` // S3
	Records []notification `json:"Records"`

	ID     string `json:"id"` // a letter
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
	errLetter  = errs.New("the message is a dead letter of a pipeline, and no batch that Lambda gave up: deliver it with `tablewake redrive`, and give the event source mapping's on-failure destination a queue of its own")
	errForeign = errs.New("the message tells of no batch that Lambda gave up: look at it in the queue's console, and send to this queue only the on-failure destination of an event source mapping, or s3:ObjectCreated:* of its bucket")
	errRemoved = errs.New("the message tells of an S3 event other than s3:ObjectCreated:*: narrow the bucket's notification to that, and delete the message")
)

// read tells what a message's body is.
func read(text []byte) (told, error) {
	b, err := parse(text)
	if err != nil {
		return told{}, err
	}
	if b.Type == "Notification" && b.TopicARN != "" { // of SNS, without raw delivery
		if b, err = parse([]byte(b.Message)); err != nil {
			return told{}, err
		}
	}
	switch {
	case b.DynamoDB != nil || b.Kinesis != nil:
		return told{record: &b.invocation}, nil
	case b.Event == "s3:TestEvent": // sent once, when the notification is set up
		return told{}, nil
	case len(b.Records) > 0:
		return objectsOf(b.Records)
	case b.ID != "" && b.Class != "":
		return told{}, errLetter
	}
	return told{}, errForeign
}

func parse(text []byte) (*body, error) {
	b := &body{}
	if err := json.Unmarshal(text, b); err != nil {
		if strings.HasPrefix(string(text), "H4sI") { // gzip in base64, as large letters are
			return nil, errLetter
		}
		return nil, errForeign
	}
	return b, nil
}

// objectsOf are the objects that a notification names.
func objectsOf(records []notification) (t told, err error) {
	for _, r := range records {
		if r.Source != "aws:s3" {
			return told{}, errForeign
		}
		if !strings.HasPrefix(r.Name, "ObjectCreated:") {
			return told{}, errRemoved
		}
		p := place{bucket: r.S3.Bucket.Name, version: r.S3.Object.Version}
		if p.key, err = url.QueryUnescape(r.S3.Object.Key); err != nil || p.key == "" || p.bucket == "" {
			return told{}, errForeign
		}
		t.objects = append(t.objects, p)
	}
	return t, nil
}

// event is the event that the record holds; nil where it holds none.
func (r *invocation) event() []byte {
	switch {
	case len(r.Payload) == 0 || string(r.Payload) == "null":
		return nil
	case r.Payload[0] != '"':
		return r.Payload
	}
	var s string // the event is escaped in a text
	if json.Unmarshal(r.Payload, &s) != nil || s == "" {
		return nil
	}
	return []byte(s)
}

// check tells what is missing of a position.
func (p *position) check() error {
	switch {
	case !isSequence(p.First):
		return errs.New("the record of a batch that Lambda gave up has no sound startSequenceNumber")
	case !isSequence(p.Last):
		return errs.New("the record of a batch that Lambda gave up has no sound endSequenceNumber")
	case pipeline.CompareSequence(p.First, p.Last) > 0:
		return errs.New("the record of a batch that Lambda gave up has a startSequenceNumber above its endSequenceNumber")
	case p.ShardID == "" || p.StreamARN == "":
		return errs.New("the record of a batch that Lambda gave up names no shardId or no streamArn")
	}
	return nil
}

// isSequence tells whether s is a sequence number: of 21 to 40 digits, as a rule.
func isSequence(s string) bool {
	return s != "" && len(s) <= 40 && strings.Trim(s, "0123456789") == ""
}
