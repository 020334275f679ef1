package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/sinks/internal/queue"
	"github.com/tablewake/tablewake/sinks/notify"
)

// QueueOptions configure a queue of SQS.
type QueueOptions struct {
	Client   *sqs.Client // required
	Queue    string      // required: URL, ARN or name; calls go to the Region of a URL or ARN
	MaxBytes int         // largest size of a call's messages. Default: the queue's setting
	Overflow Overflow    // stores the data of larger events. Default: none; larger events are permanent errors
	Create   bool        // a missing queue is created, FIFO if its name ends in .fifo. Default: an error
}

// Queue sends events to an SQS queue. The trace context is also in message attributes. A Queue is safe for concurrent
// use.
type Queue struct {
	publisher
	client  *sqs.Client
	address queue.Address
	fifo    bool
}

var _ notify.Store = (*Queue)(nil)

// NewQueue finds the queue, and reads its settings. An error for a missing or forbidden queue is marked pipeline.Fatal.
func NewQueue(ctx context.Context, o QueueOptions) (*Queue, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("notify: Client is nil: give an SQS client")
	case o.Queue == "":
		return nil, errors.New("notify: Queue is empty: give the queue's URL, ARN or name")
	case o.MaxBytes < 0:
		return nil, fmt.Errorf("notify: MaxBytes is %d: give a size in bytes", o.MaxBytes)
	}
	q := &Queue{client: o.Client, address: queue.ParseAddress(o.Queue)}
	q.fifo = queue.IsFIFO(q.address.Name)
	q.publisher = publisher{target: q, name: "queue " + q.address.Name, maxBytes: o.MaxBytes, overflow: o.Overflow}
	if err := queue.Ensure(ctx, o.Create, q.findQueue, q.create); err != nil {
		return nil, err
	}
	return q, nil
}

// create creates the queue in the account of the client.
func (q *Queue) create(ctx context.Context) error {
	if err := q.address.Create(ctx, q.client, nil); err != nil {
		return q.wrapError(ctx, "CreateQueue", err)
	}
	if err := q.address.CheckAccount(); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

// findQueue finds the queue, and reads the maximum size of its messages.
func (q *Queue) findQueue(ctx context.Context) error {
	if err := q.address.Find(ctx, q.client); err != nil {
		return q.wrapError(ctx, "GetQueueUrl", err)
	}
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &q.address.URL, AttributeNames: []types.QueueAttributeName{queue.MaximumMessageSize},
	}, q.address.InRegion)
	if err != nil && awserr.IsForbidden(err) { // a role may have no right except SendMessage
		out, err = &sqs.GetQueueAttributesOutput{}, nil
	}
	if err != nil {
		return q.wrapError(ctx, "GetQueueAttributes", err)
	}
	q.maxBytes = cmp.Or(q.maxBytes, queue.MaxBytes(out.Attributes))
	return nil
}

// Waiting has the numbers of messages in a queue. SQS counts them approximately.
type Waiting struct {
	Visible  string // messages that no receiver has taken yet
	InFlight string // messages that were received and not deleted
}

// Waiting counts the messages of the queue.
func (q *Queue) Waiting(ctx context.Context) (Waiting, error) {
	const visible = types.QueueAttributeNameApproximateNumberOfMessages
	const inFlight = types.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &q.address.URL, AttributeNames: []types.QueueAttributeName{visible, inFlight},
	}, q.address.InRegion)
	if err != nil {
		return Waiting{}, q.wrapError(ctx, "GetQueueAttributes", err)
	}
	return Waiting{out.Attributes[string(visible)], out.Attributes[string(inFlight)]}, nil
}

func (q *Queue) wrapError(ctx context.Context, op string, err error) error {
	return awserr.CallError(ctx, q.op(op), err, hints(q.name, "sqs:"+op))
}

func (q *Queue) weigh(m *notify.Message, body []byte) (n int, refused string) {
	return len(body) + traceBytes(m), ""
}

func (q *Queue) send(ctx context.Context, ms []outgoing) ([]error, error) {
	in := &sqs.SendMessageBatchInput{QueueUrl: &q.address.URL}
	for i, m := range ms {
		e := types.SendMessageBatchRequestEntry{Id: new(queue.EntryID(i)), MessageBody: new(string(m.body))}
		for name, value := range traceAttributes(m.Message) {
			if e.MessageAttributes == nil {
				e.MessageAttributes = make(map[string]types.MessageAttributeValue)
			}
			e.MessageAttributes[name] = types.MessageAttributeValue{DataType: new(stringType), StringValue: &value}
		}
		if q.fifo {
			e.MessageGroupId, e.MessageDeduplicationId = new(group(m.Key)), &m.ID
		}
		in.Entries = append(in.Entries, e)
	}
	out, err := q.client.SendMessageBatch(ctx, in, q.address.InRegion)
	if err != nil {
		return nil, q.wrapError(ctx, "SendMessageBatch", err)
	}
	answers := newAnswers(len(ms))
	for _, sent := range out.Successful {
		answers.set(sent.Id, nil)
	}
	for _, f := range out.Failed {
		answers.set(f.Id, awserr.EntryError(q.op("SendMessageBatch"), aws.ToString(f.Code), !f.SenderFault,
			hints(q.name, "sqs:SendMessage")))
	}
	return answers, nil
}
