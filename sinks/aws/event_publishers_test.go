package aws_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
	"github.com/tablewake/tablewake/test/server"
)

// With Create, missing queues, topics and buses are created, and those with names in .fifo become FIFO. Without Create,
// the error says how to create them. Existing queues, topics and buses stay unchanged.
func TestCreate_Notify(t *testing.T) {
	for name, endpoint := range map[string]string{"moto": server.Moto().Endpoint(t), "elasticmq": server.SQS().Endpoint(t)} {
		t.Run(name, func(t *testing.T) {
			cfg := sdk(endpoint)
			queues := sqs.NewFromConfig(cfg)
			name := fmt.Sprintf("made%d", rand.Uint64())
			text := fmt.Sprintf(`detect: {paid: {attribute: Status, to: paid}}
sinks:
  queue: {notify: {queue: %[1]s, events: [paid]}}
  fifo: {notify: {queue: %[1]s.fifo, events: [paid]}}
dead_letters: {queue: %[1]s-dead}
`, name)
			topic := "arn:aws:sns:us-east-1:123456789012:" + name + ".fifo"
			if strings.HasSuffix(t.Name(), "moto") {
				text = strings.Replace(text, "dead_letters", fmt.Sprintf(`  topic: {notify: {topic: '%s', events: [paid]}}
  bus: {notify: {bus: %s, events: [paid]}}
dead_letters`, topic, name), 1)
			}
			file := parse(t, text)

			for _, options := range [][]aws.Option{nil, {aws.Create(), aws.LookOnly()}} {
				stores := aws.Stores(cfg, options...)
				defer stores.Close()
				if _, err := sinks.Assemble(t.Context(), file, stores); err == nil || !strings.Contains(err.Error(), "--create") {
					t.Errorf("without them: %v; want what makes them", err)
				}
			}
			for range 2 { // the second time they exist already
				making := aws.Stores(cfg, aws.Create())
				defer making.Close()
				if _, err := sinks.Assemble(t.Context(), file, making); err != nil {
					t.Fatal(err)
				}
			}
			for queue, want := range map[string]map[string]string{
				name: {}, name + ".fifo": {"FifoQueue": "true"}, name + "-dead": {"MessageRetentionPeriod": "1209600"},
			} {
				url, err := queues.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &queue})
				if err != nil {
					t.Fatal(err)
				}
				got, err := queues.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
					QueueUrl: url.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
				})
				if err != nil {
					t.Fatal(err)
				}
				for attribute, value := range want {
					if got.Attributes[attribute] != value && (attribute != "MessageRetentionPeriod" || got.Attributes[attribute] != "") {
						t.Errorf("%s has %s %q, want %q", queue, attribute, got.Attributes[attribute], value)
					}
				}
			}
			if !strings.HasSuffix(t.Name(), "moto") {
				return
			}
			about, err := sns.NewFromConfig(cfg).GetTopicAttributes(t.Context(), &sns.GetTopicAttributesInput{TopicArn: &topic})
			if err != nil || about.Attributes["FifoTopic"] != "true" {
				t.Errorf("the topic is %+v (%v)", about, err)
			}
			if _, err := eventbridge.NewFromConfig(cfg).DescribeEventBus(t.Context(), &eventbridge.DescribeEventBusInput{Name: &name}); err != nil {
				t.Error(err)
			}
		})
	}
}

// AWS creates topics, buses and queues only in the account of the credentials. With Create, a missing topic, bus or
// queue of another account is therefore an error.
func TestCreate_NotifyElsewhere(t *testing.T) {
	cfg := sdk(server.Moto().Endpoint(t))
	name := fmt.Sprintf("made%d", rand.Uint64())
	for _, place := range []string{
		"topic: 'arn:aws:sns:us-east-1:210987654321:" + name + "'",
		"bus: 'arn:aws:events:us-east-1:210987654321:event-bus/" + name + "'",
		"queue: 'arn:aws:sqs:us-east-1:210987654321:" + name + "'",
	} {
		file := parse(t, "detect: {paid: {attribute: Status, to: paid}}\nsinks:\n  told: {notify: {"+place+", events: [paid]}}\n")
		making := aws.Stores(cfg, aws.Create())
		defer making.Close()
		if _, err := sinks.Assemble(t.Context(), file, making); err == nil || !strings.Contains(err.Error(), "own account") {
			t.Errorf("%s: %v", place, err)
		}
	}
}
