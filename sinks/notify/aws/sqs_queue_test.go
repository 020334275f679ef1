package aws_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/sinks/internal/awstest"
	"github.com/tablewake/tablewake/sinks/notify/aws"
)

// Waiting returns the number of visible messages, and the number of messages that were received and not deleted.
func TestQueue_Waiting(t *testing.T) {
	made := newQueue(t, awstest.SQS, false, nil)
	q, err := aws.NewQueue(t.Context(), aws.QueueOptions{Client: made.client, Queue: made.arn})
	if err != nil {
		t.Fatal(err)
	}
	want := func(w aws.Waiting) { // the counts of a queue are right after a while
		t.Helper()
		var got aws.Waiting
		for range 50 {
			if got, err = q.Waiting(t.Context()); err != nil || got == w {
				break
			}
			time.Sleep(200 * time.Millisecond)
		}
		if err != nil || got != w {
			t.Errorf("the queue has %+v, %v, want %+v", got, err, w)
		}
	}
	want(aws.Waiting{Visible: "0", InFlight: "0"})
	body := "event"
	for range 3 {
		if _, err := made.client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &made.url, MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}
	want(aws.Waiting{Visible: "3", InFlight: "0"})
	if _, err := made.client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &made.url, MaxNumberOfMessages: 1}); err != nil {
		t.Fatal(err)
	}
	want(aws.Waiting{Visible: "2", InFlight: "1"})
}
