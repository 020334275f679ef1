package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
	"github.com/tablewake/tablewake/sinks/deadletter/sqs"
	"github.com/tablewake/tablewake/sinks/internal/awstest"
)

func client(t testing.TB, tap awstest.Tap) *awssqs.Client {
	t.Helper()
	return awssqs.NewFromConfig(awstest.Config(t, awstest.SQS, tap))
}

// newQueue creates a queue for the test and returns its URL. The queue is deleted at the end of the test.
func newQueue(t testing.TB, attributes map[string]string) string {
	t.Helper()
	c, name := client(t, nil), awstest.Name("dead")
	if attributes["FifoQueue"] != "" {
		name += ".fifo"
	}
	out, err := c.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.DeleteQueue(context.Background(), &awssqs.DeleteQueueInput{QueueUrl: out.QueueUrl}); err != nil {
			t.Error(err)
		}
	})
	return *out.QueueUrl
}

func open(t testing.TB, queue string, tap awstest.Tap, change ...func(*sqs.Options)) *sqs.Store {
	t.Helper()
	o := sqs.Options{Client: client(t, tap), Queue: queue, Pipeline: "shop", Poll: time.Millisecond, Settle: 50 * time.Millisecond}
	for _, c := range change {
		c(&o)
	}
	s, err := sqs.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func letters(ids ...int) []pipeline.DeadLetter {
	var ls []pipeline.DeadLetter
	for _, id := range ids {
		ls = append(ls, pipeline.DeadLetter{Pipeline: "shop", Class: "undecodable", Error: "cut", Index: id, Raw: fmt.Appendf(nil, `{"n":%d`, id), Time: time.Unix(int64(id), 0).UTC()})
	}
	return ls
}

func ids(of ...int) []string {
	var out []string
	for _, l := range letters(of...) {
		out = append(out, deadletter.ID(&l))
	}
	return out
}

func put(t testing.TB, s *sqs.Store, of ...int) {
	t.Helper()
	if err := s.Put(t.Context(), letters(of...)); err != nil {
		t.Fatal(err)
	}
}

// read returns the numbers of all dead letters, sorted.
func read(t testing.TB, s deadletter.Store) string {
	t.Helper()
	var all []int
	for l, err := range s.Read(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l.Index)
	}
	slices.Sort(all)
	return strings.Trim(fmt.Sprint(all), "[]")
}

func release(t testing.TB, s *sqs.Store) {
	t.Helper()
	if err := s.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, s *sqs.Store, of ...int) {
	t.Helper()
	if err := s.Remove(t.Context(), ids(of...)); err != nil {
		t.Fatal(err)
	}
}
