package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/sinks/internal/queue"
	"github.com/tablewake/tablewake/sinks/notify"
)

// TopicOptions describe a topic of SNS.
type TopicOptions struct {
	Client   *sns.Client // required
	Topic    string      // required: its ARN, whose Region is that of the calls
	MaxBytes int         // of a message, and of the messages of a call. Default: what the topic is set to take
	Overflow Overflow    // where the data of larger events goes. Default: none; they are permanent errors
}

// Topic publishes events to an SNS topic. The message's attribute "type" is the
// event's, for the filter policies of subscriptions, and "traceparent" and "tracestate" are
// those of the trace that it is sent in. It is safe for concurrent use.
type Topic struct {
	publisher
	client *sns.Client
	arn    string
	fifo   bool
}

var _ notify.Store = (*Topic)(nil)

// NewTopic looks whether the topic is there. An error that is marked pipeline.Fatal is
// of a topic that is missing.
func NewTopic(ctx context.Context, o TopicOptions) (*Topic, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("notify: Client is nil: give an SNS client")
	case regionOf(o.Topic) == "":
		return nil, errors.New("notify: Topic is no ARN: give the topic's, arn:aws:sns:REGION:ACCOUNT:NAME")
	case o.MaxBytes < 0:
		return nil, fmt.Errorf("notify: MaxBytes is %d: give a size in bytes", o.MaxBytes)
	}
	t := &Topic{client: o.Client, arn: o.Topic, fifo: strings.HasSuffix(o.Topic, ".fifo")}
	t.publisher = publisher{target: t, name: "topic " + o.Topic[strings.LastIndexByte(o.Topic, ':')+1:], maxBytes: o.MaxBytes, overflow: o.Overflow}
	out, err := t.client.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &t.arn}, t.region)
	switch {
	case err != nil && awserr.Forbidden(err): // a role may do nothing but publish
		out = &sns.GetTopicAttributesOutput{}
	case err != nil:
		return nil, t.failed(ctx, "GetTopicAttributes", err)
	}
	t.maxBytes = cmp.Or(t.maxBytes, queue.MaxBytes(out.Attributes))
	return t, nil
}

func (t *Topic) region(o *sns.Options) { o.Region = regionOf(t.arn) }

func (t *Topic) failed(ctx context.Context, op string, err error) error {
	return awserr.Call(ctx, t.op(op), err, hints(t.name, "sns:"+strings.TrimSuffix(op, "Batch")))
}

// typeAttribute is the attribute that holds the event's type. Its bytes count too.
const typeAttribute = "type"

func (t *Topic) weigh(m *notify.Message, body []byte) (n int, refuses string) {
	n = len(body) + len(typeAttribute) + len(stringType) + len(m.Type)
	for name, value := range traceAttributes(m) {
		n += len(name) + len(stringType) + len(value)
	}
	return n, ""
}

func (t *Topic) send(ctx context.Context, ms []outgoing) ([]error, error) {
	in := &sns.PublishBatchInput{TopicArn: &t.arn}
	for i, m := range ms {
		e := types.PublishBatchRequestEntry{
			Id: new(queue.EntryID(i)), Message: new(string(m.body)),
			MessageAttributes: map[string]types.MessageAttributeValue{typeAttribute: {DataType: new(stringType), StringValue: &m.Type}},
		}
		for name, value := range traceAttributes(m.Message) {
			e.MessageAttributes[name] = types.MessageAttributeValue{DataType: new(stringType), StringValue: &value}
		}
		if t.fifo {
			e.MessageGroupId, e.MessageDeduplicationId = new(group(m.Key)), &m.ID
		}
		in.PublishBatchRequestEntries = append(in.PublishBatchRequestEntries, e)
	}
	out, err := t.client.PublishBatch(ctx, in, t.region)
	if err != nil {
		return nil, t.failed(ctx, "PublishBatch", err)
	}
	a := newAnswers(len(ms))
	for _, ok := range out.Successful {
		a.set(ok.Id, nil)
	}
	for _, f := range out.Failed {
		a.set(f.Id, awserr.Entry(t.op("PublishBatch"), aws.ToString(f.Code), !f.SenderFault, hints(t.name, "sns:Publish")))
	}
	return a.errs, nil
}
