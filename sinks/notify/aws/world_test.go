package aws_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/internal/awstest"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/notify/aws"
)

// queue is a queue for one test, with the messages that arrived.
type queue struct {
	client *sqs.Client
	url    string
	arn    string

	mu  sync.Mutex
	got []types.Message
}

// newQueue creates a queue for the test. If fifo is set, the queue is a FIFO queue.
func newQueue(t testing.TB, env string, fifo bool, attributes map[string]string) *queue {
	t.Helper()
	q := &queue{client: sqs.NewFromConfig(awstest.Config(t, env, nil))}
	name := awstest.Name("notify")
	all := map[string]string{}
	for k, v := range attributes {
		all[k] = v
	}
	if fifo {
		name += ".fifo"
		all["FifoQueue"] = "true"
	}
	out, err := q.client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: all})
	if err != nil {
		t.Fatal(err)
	}
	q.url = *out.QueueUrl
	of, err := q.client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: []types.QueueAttributeName{"QueueArn"}})
	if err != nil {
		t.Fatal(err)
	}
	q.arn = of.Attributes["QueueArn"]
	t.Cleanup(func() {
		if _, err := q.client.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: &q.url}); err != nil {
			t.Error(err)
		}
	})
	return q
}

// drain receives the available messages, and returns all that ever arrived.
func (q *queue) drain() ([]types.Message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		out, err := q.client.ReceiveMessage(context.Background(), &sqs.ReceiveMessageInput{
			QueueUrl: &q.url, MaxNumberOfMessages: 10, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"}, MessageAttributeNames: []string{"All"},
		})
		if err != nil {
			return nil, err
		}
		if len(out.Messages) == 0 {
			return q.got, nil
		}
		var done []types.DeleteMessageBatchRequestEntry
		for i, m := range out.Messages {
			done = append(done, types.DeleteMessageBatchRequestEntry{Id: new(fmt.Sprint(i)), ReceiptHandle: m.ReceiptHandle})
		}
		if _, err := q.client.DeleteMessageBatch(context.Background(), &sqs.DeleteMessageBatchInput{QueueUrl: &q.url, Entries: done}); err != nil {
			return nil, err
		}
		q.got = append(q.got, out.Messages...)
	}
}

// empty deletes and forgets all messages that arrived.
func (q *queue) empty() error {
	_, err := q.drain()
	q.got = nil
	return err
}

// ids returns the ids of the events that arrived, in order of arrival.
func (q *queue) ids(t testing.TB) string {
	t.Helper()
	got, err := q.drain()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range got {
		e, err := event(*m.Body)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	return strings.Join(ids, " ")
}

// cloudEvent has the members of a CloudEvent that the tests check.
type cloudEvent struct {
	ID, Type, Source, Subject, DataRef string
	Data                               json.RawMessage
}

// event reads the CloudEvent of a message. On a bus, the CloudEvent is in the detail of an EventBridge event.
func event(body string) (cloudEvent, error) {
	var e cloudEvent
	err := json.Unmarshal(detailOf(body), &e)
	return e, err
}

// messages returns a message for each id in list, such as "a1 b1 a2". The first letter of the id is the key.
func messages(list string) []notify.Message {
	var ms []notify.Message
	for _, id := range strings.Fields(list) {
		ms = append(ms, notify.Message{
			ID: id, Type: "tablewake.test.x", Source: "table/test", Key: item.Key(id[:1]),
			Body: fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"table/test","type":"tablewake.test.x","data":{"n":1}}`, id),
		})
	}
	return ms
}

// outcome returns the result of each message: ok, again (can be retried), refused or fatal.
func outcome(ms []notify.Message, err error) string {
	var out []string
	for i, m := range ms {
		failure := err
		if batch, ok := errors.AsType[*pipeline.BatchError](err); ok {
			failure = batch.Failed[i]
		}
		_, retry := pipeline.Retryable(failure)
		word := "refused"
		switch {
		case failure == nil:
			word = "ok"
		case pipeline.IsFatal(failure):
			word = "fatal"
		case retry:
			word = "again"
		}
		out = append(out, m.ID+":"+word)
	}
	return strings.Join(out, " ")
}

// service opens a store on a server. All services must pass the same tests.
type service struct {
	name string
	open func(t testing.TB, tap awstest.Tap, overflow aws.Overflow) (notify.Store, *queue)
}

var services = []service{
	{"queue", func(t testing.TB, tap awstest.Tap, overflow aws.Overflow) (notify.Store, *queue) {
		q := newQueue(t, awstest.SQS, false, nil)
		return must(aws.NewQueue(t.Context(), aws.QueueOptions{Client: sqs.NewFromConfig(awstest.Config(t, awstest.SQS, tap)), Queue: q.url, Overflow: overflow}))(t), q
	}},
	{"fifo queue", func(t testing.TB, tap awstest.Tap, overflow aws.Overflow) (notify.Store, *queue) {
		q := newQueue(t, awstest.SQS, true, nil)
		return must(aws.NewQueue(t.Context(), aws.QueueOptions{Client: sqs.NewFromConfig(awstest.Config(t, awstest.SQS, tap)), Queue: q.url, Overflow: overflow}))(t), q
	}},
	{"topic", func(t testing.TB, tap awstest.Tap, overflow aws.Overflow) (notify.Store, *queue) {
		return newTopic(t, false, tap, overflow)
	}},
	{"fifo topic", func(t testing.TB, tap awstest.Tap, overflow aws.Overflow) (notify.Store, *queue) {
		return newTopic(t, true, tap, overflow)
	}},
	{"bus", newBus},
}

func must[T notify.Store](store T, err error) func(testing.TB) notify.Store {
	return func(t testing.TB) notify.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
}

// newTopic creates a topic with a subscribed queue.
func newTopic(t testing.TB, fifo bool, tap awstest.Tap, overflow aws.Overflow) (notify.Store, *queue) {
	t.Helper()
	q := newQueue(t, awstest.Moto, fifo, nil)
	client := sns.NewFromConfig(awstest.Config(t, awstest.Moto, nil))
	in := &sns.CreateTopicInput{Name: new(awstest.Name("notify"))}
	if fifo {
		in.Name, in.Attributes = new(*in.Name+".fifo"), map[string]string{"FifoTopic": "true"}
	}
	topic, err := client.CreateTopic(t.Context(), in)
	if err == nil {
		_, err = client.Subscribe(t.Context(), &sns.SubscribeInput{
			TopicArn: topic.TopicArn, Protocol: new("sqs"), Endpoint: &q.arn, Attributes: map[string]string{"RawMessageDelivery": "true"},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return must(aws.NewTopic(t.Context(), aws.TopicOptions{Client: sns.NewFromConfig(awstest.Config(t, awstest.Moto, tap)), Topic: *topic.TopicArn, Overflow: overflow}))(t), q
}

// newBus creates a bus with a rule that sends all events to a queue.
func newBus(t testing.TB, tap awstest.Tap, overflow aws.Overflow) (notify.Store, *queue) {
	t.Helper()
	q := newQueue(t, awstest.Moto, false, nil)
	client := eventbridge.NewFromConfig(awstest.Config(t, awstest.Moto, nil))
	bus := awstest.Name("notify")
	_, err := client.CreateEventBus(t.Context(), &eventbridge.CreateEventBusInput{Name: &bus})
	if err == nil {
		_, err = client.PutRule(t.Context(), &eventbridge.PutRuleInput{Name: &bus, EventBusName: &bus, EventPattern: new(`{"source":[{"exists":true}]}`)})
	}
	if err == nil {
		_, err = client.PutTargets(t.Context(), &eventbridge.PutTargetsInput{Rule: &bus, EventBusName: &bus, Targets: []ebtypes.Target{{Id: new("queue"), Arn: &q.arn}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return must(aws.NewBus(t.Context(), aws.BusOptions{Client: eventbridge.NewFromConfig(awstest.Config(t, awstest.Moto, tap)), Bus: bus, Overflow: overflow}))(t), q
}

// counting counts the calls of each operation.
type counting struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counting) tap(op string, _ *http.Request, body []byte, send func([]byte) (*http.Response, error)) (*http.Response, error) {
	c.mu.Lock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[op]++
	c.mu.Unlock()
	return send(body)
}

// detailOf returns the CloudEvent of a message. If the message is an EventBridge event, the CloudEvent is its detail.
func detailOf(body string) []byte {
	var around struct{ Detail json.RawMessage }
	if err := json.Unmarshal([]byte(body), &around); err == nil && around.Detail != nil {
		return around.Detail
	}
	return []byte(body)
}
