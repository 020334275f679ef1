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

// TopicOptions configure a topic of SNS.
type TopicOptions struct {
	Client   *sns.Client // required
	Topic    string      // required: ARN; calls go to its Region
	MaxBytes int         // largest size of a call's messages. Default: the topic's setting
	Overflow Overflow    // stores the data of larger events. Default: none; larger events are permanent errors
	Create   bool        // a missing topic is created, FIFO if its name ends in .fifo. Default: an error
}

// Topic publishes events to an SNS topic. The message attribute "type" has the event's type, so that filter policies of
// subscriptions can use it. The attributes "traceparent" and "tracestate" have the trace context. A Topic is safe for
// concurrent use.
type Topic struct {
	publisher
	client *sns.Client
	arn    string
	fifo   bool
}

var _ notify.Store = (*Topic)(nil)

// NewTopic checks that the topic exists. If the topic is missing, the error is marked pipeline.Fatal.
func NewTopic(ctx context.Context, o TopicOptions) (*Topic, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("notify: Client is nil: give an SNS client")
	case regionOf(o.Topic) == "":
		return nil, errors.New("notify: Topic is not an ARN: give the topic's, arn:aws:sns:REGION:ACCOUNT:NAME")
	case o.MaxBytes < 0:
		return nil, fmt.Errorf("notify: MaxBytes is %d: give a size in bytes", o.MaxBytes)
	}
	t := &Topic{client: o.Client, arn: o.Topic, fifo: queue.IsFIFO(o.Topic)}
	t.publisher = publisher{target: t, name: "topic " + o.Topic[strings.LastIndexByte(o.Topic, ':')+1:],
		maxBytes: o.MaxBytes, overflow: o.Overflow}
	if err := queue.Ensure(ctx, o.Create, t.readLimit, t.create); err != nil {
		return nil, err
	}
	return t, nil
}

// readLimit reads the maximum size of the topic's messages. It fails if the topic does not exist.
func (t *Topic) readLimit(ctx context.Context) error {
	out, err := t.client.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &t.arn}, t.region)
	if err != nil && awserr.IsForbidden(err) { // a role may have no right except Publish
		out, err = &sns.GetTopicAttributesOutput{}, nil
	}
	if err != nil {
		return t.wrapError(ctx, "GetTopicAttributes", err)
	}
	t.maxBytes = cmp.Or(t.maxBytes, queue.MaxBytes(out.Attributes))
	return nil
}

// create creates the topic in the account of the client.
func (t *Topic) create(ctx context.Context) error {
	in := &sns.CreateTopicInput{Name: aws.String(t.arn[strings.LastIndexByte(t.arn, ':')+1:])}
	if t.fifo {
		in.Attributes = map[string]string{"FifoTopic": "true"}
	}
	out, err := t.client.CreateTopic(ctx, in, t.region)
	if err != nil {
		return t.wrapError(ctx, "CreateTopic", err)
	}
	if err := queue.CheckCreated(aws.ToString(out.TopicArn), t.arn); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

func (t *Topic) region(o *sns.Options) { o.Region = regionOf(t.arn) }

func (t *Topic) wrapError(ctx context.Context, op string, err error) error {
	return awserr.CallError(ctx, t.op(op), err, hints(t.name, "sns:"+strings.TrimSuffix(op, "Batch")))
}

// typeAttribute is the message attribute with the event's type. SNS counts its bytes.
const typeAttribute = "type"

func (t *Topic) weigh(m *notify.Message, body []byte) (n int, refused string) {
	return len(body) + len(typeAttribute) + len(stringType) + len(m.Type) + traceBytes(m), ""
}

func (t *Topic) send(ctx context.Context, ms []outgoing) ([]error, error) {
	in := &sns.PublishBatchInput{TopicArn: &t.arn}
	for i, m := range ms {
		e := types.PublishBatchRequestEntry{
			Id: new(queue.EntryID(i)), Message: new(string(m.body)),
			MessageAttributes: map[string]types.MessageAttributeValue{typeAttribute: {DataType: new(stringType),
				StringValue: &m.Type}},
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
		return nil, t.wrapError(ctx, "PublishBatch", err)
	}
	answers := newAnswers(len(ms))
	for _, sent := range out.Successful {
		answers.set(sent.Id, nil)
	}
	for _, f := range out.Failed {
		answers.set(f.Id, awserr.EntryError(t.op("PublishBatch"), aws.ToString(f.Code), !f.SenderFault,
			hints(t.name, "sns:Publish")))
	}
	return answers, nil
}
