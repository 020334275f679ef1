package aws_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/internal/awstest"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/notify/aws"
)

// An error about wrong options names the option. If a queue, topic or bus does not exist, the error is fatal and says
// what to do.
func TestNew(t *testing.T) {
	queues := sqs.NewFromConfig(awstest.Config(t, awstest.SQS, nil))
	topics := sns.NewFromConfig(awstest.Config(t, awstest.Moto, nil))
	buses := eventbridge.NewFromConfig(awstest.Config(t, awstest.Moto, nil))
	topic := "arn:aws:sns:us-east-1:123456789012:" + awstest.Name("none")
	queue := func(o aws.QueueOptions) error { _, err := aws.NewQueue(t.Context(), o); return err }
	of := func(o aws.TopicOptions) error { _, err := aws.NewTopic(t.Context(), o); return err }
	bus := func(o aws.BusOptions) error { _, err := aws.NewBus(t.Context(), o); return err }
	for _, test := range []struct {
		err   error
		want  string
		fatal bool
	}{
		{queue(aws.QueueOptions{Queue: "q"}), "Client is nil", false},
		{queue(aws.QueueOptions{Client: queues}), "Queue is empty", false},
		{queue(aws.QueueOptions{Client: queues, Queue: "q", MaxBytes: -1}), "MaxBytes is -1", false},
		{queue(aws.QueueOptions{Client: queues, Queue: awstest.Name("none")}), "check name, Region and account of the queue none", true},
		{queue(aws.QueueOptions{Client: queues, Queue: "http://127.0.0.1/000000000000/" + awstest.Name("none")}), "check name, Region and account of the queue none", true},
		{of(aws.TopicOptions{Topic: topic}), "Client is nil", false},
		{of(aws.TopicOptions{Client: topics, Topic: "orders"}), "Topic is not an ARN", false},
		{of(aws.TopicOptions{Client: topics, Topic: topic, MaxBytes: -1}), "MaxBytes is -1", false},
		{of(aws.TopicOptions{Client: topics, Topic: topic}), "check name, Region and account of the topic none", true},
		{bus(aws.BusOptions{Bus: "b"}), "Client is nil", false},
		{bus(aws.BusOptions{Client: buses}), "Bus is empty", false},
		{bus(aws.BusOptions{Client: buses, Bus: "b", MaxBytes: -1}), "MaxBytes is -1", false},
		{bus(aws.BusOptions{Client: buses, Bus: awstest.Name("none")}), "check name, Region and account of the bus none", true},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) || pipeline.IsFatal(test.err) != test.fatal {
			t.Errorf("error %v (fatal %v), want one of %q (fatal %v)", test.err, pipeline.IsFatal(test.err), test.want, test.fatal)
		}
	}
}

// A role may have only the right to send. If the store may not describe a queue, topic or bus, it opens with the
// default limits.
func TestNew_MayNotAsk(t *testing.T) {
	forbidden := func(_ string, r *http.Request, _ []byte, _ func([]byte) (*http.Response, error)) (*http.Response, error) {
		return awstest.Answer(r, http.StatusForbidden, "text/xml", "<ErrorResponse><Error><Code>AuthorizationError</Code></Error></ErrorResponse>"), nil
	}
	cfg := awstest.Offline(forbidden)
	for _, err := range []error{
		second(aws.NewQueue(t.Context(), aws.QueueOptions{Client: sqs.NewFromConfig(cfg), Queue: "https://sqs.eu-central-1.amazonaws.com/1/q"})),
		second(aws.NewTopic(t.Context(), aws.TopicOptions{Client: sns.NewFromConfig(cfg), Topic: "arn:aws:sns:eu-central-1:1:t"})),
		second(aws.NewBus(t.Context(), aws.BusOptions{Client: eventbridge.NewFromConfig(cfg), Bus: "b"})),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// NewQueue finds a queue by its name, its URL or its ARN.
func TestNewQueue_Names(t *testing.T) {
	q := newQueue(t, awstest.SQS, false, nil)
	name := q.url[strings.LastIndexByte(q.url, '/')+1:]
	for i, queue := range []string{name, q.url, "arn:aws:sqs:us-east-1:000000000000:" + name} {
		store, err := aws.NewQueue(t.Context(), aws.QueueOptions{Client: q.client, Queue: queue})
		if err != nil {
			t.Fatalf("%s: %v", queue, err)
		}
		if err := store.Publish(t.Context(), messages([]string{"a1", "b1", "c1"}[i])); err != nil {
			t.Fatalf("%s: %v", queue, err)
		}
	}
	if got := q.ids(t); len(strings.Fields(got)) != 3 {
		t.Errorf("arrived %s", got)
	}
}

// Calls are signed for the Region in the URL or ARN, and not for the Region of the client.
func TestNew_Region(t *testing.T) {
	var at string
	cfg := awstest.Offline(func(_ string, r *http.Request, _ []byte, _ func([]byte) (*http.Response, error)) (*http.Response, error) {
		_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		at = strings.Split(scope, "/")[2]
		return awstest.Answer(r, 200, "application/x-amz-json-1.0", `{"QueueUrl":"https://sqs.eu-west-1.amazonaws.com/1/q"}`), nil
	})
	for name, want := range map[string]string{
		"https://sqs.eu-west-1.amazonaws.com/1/q":             "eu-west-1",
		"https://sqs-fips.us-west-2.amazonaws.com/1/q":        "us-west-2",
		"https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com/1/q": "eu-west-1",
		"https://sqs.cn-north-1.amazonaws.com.cn/1/q":         "cn-north-1",
		"https://sqs.eu-west-1.api.aws/1/q":                   "eu-west-1",
		"https://eu-west-1.queue.amazonaws.com/1/q":           "eu-west-1",
		"http://localhost:9324/1/q":                           awstest.Region,
		"http://sqs.example.com/1/q":                          awstest.Region,
		"arn:aws:sqs:eu-west-1:1:q":                           "eu-west-1",
		"q":                                                   awstest.Region,
		"arn:aws:events:eu-west-1:1:event-bus/b":              "eu-west-1",
		"arn:aws:sns:eu-west-1:1:t":                           "eu-west-1",
	} {
		var err error
		switch {
		case strings.Contains(name, ":events:"):
			_, err = aws.NewBus(t.Context(), aws.BusOptions{Client: eventbridge.NewFromConfig(cfg), Bus: name})
		case strings.Contains(name, ":sns:"):
			_, _ = aws.NewTopic(t.Context(), aws.TopicOptions{Client: sns.NewFromConfig(cfg), Topic: name}) // the answer is invalid
		default:
			_, err = aws.NewQueue(t.Context(), aws.QueueOptions{Client: sqs.NewFromConfig(cfg), Queue: name})
		}
		if err != nil || at != want {
			t.Errorf("%s is of the Region %s, want %s (%v)", name, at, want, err)
		}
	}
}

// Without MaxBytes, the largest message size of the queue decides whether the data of an event goes to the bucket.
func TestNewQueue_MaximumMessageSize(t *testing.T) {
	for _, given := range []int{0, 2000} {
		f := &bucket{}
		cfg := awstest.Offline(func(op string, r *http.Request, body []byte, _ func([]byte) (*http.Response, error)) (*http.Response, error) {
			answer := map[string]any{"Attributes": map[string]string{"MaximumMessageSize": "1024"}}
			if op == "SendMessageBatch" {
				answer = map[string]any{"Successful": []map[string]string{{"Id": "e0"}}}
			}
			b, err := json.Marshal(answer)
			return awstest.Answer(r, 200, "application/x-amz-json-1.0", string(b)), err
		})
		store, err := aws.NewQueue(t.Context(), aws.QueueOptions{
			Client: sqs.NewFromConfig(cfg, func(o *sqs.Options) { o.DisableMessageChecksumValidation = true }),
			Queue:  "https://sqs.us-east-1.amazonaws.com/1/q", MaxBytes: given, Overflow: f,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Publish(t.Context(), []notify.Message{large("a1", 1200)}); err != nil {
			t.Fatal(err)
		}
		if kept := len(f.objects) == 1; kept != (given == 0) {
			t.Errorf("with MaxBytes %d an event of 1200 bytes goes to the bucket: %v", given, kept)
		}
	}
}
