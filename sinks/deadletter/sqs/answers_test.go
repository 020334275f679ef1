package sqs_test

import (
	"net/http"
	"testing"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/internal/awstest"
	"github.com/tablewake/tablewake/test/faults"
)

// If an answer does not come from SQS, letters count neither as read nor as removed.
func TestAnswersThatAreNotTheServices(t *testing.T) {
	var op string
	var given *faults.Answer // answer in place of SQS; nil: SQS answers
	s := open(t, newQueue(t, nil), func(called string, r *http.Request, body []byte, send func([]byte) (*http.Response, error)) (*http.Response, error) {
		if given == nil || called != op {
			return send(body)
		}
		return awstest.Answer(r, given.Status, given.Type, given.Body), nil
	})
	check := func(answer faults.Answer, err error) {
		t.Helper()
		if _, retry := pipeline.Retryable(err); !retry {
			t.Errorf("%s answered %s: %v", op, answer.Name, err)
		}
	}
	put(t, s, 1, 2, 3)
	for _, answer := range faults.Answers() {
		if answer.Cut {
			continue
		}
		if answer.Body != "{}" { // SQS's own answer if there is no message
			op, given = "ReceiveMessage", &answer
			var failed error
			for _, err := range s.Read(t.Context()) {
				failed = err
			}
			check(answer, failed)
			given = nil
		}
		if got := read(t, s); got != "1 2 3" {
			t.Fatalf("after %s: letters %s", answer.Name, got)
		}
		op, given = "DeleteMessageBatch", &answer
		check(answer, s.Remove(t.Context(), ids(1, 2, 3)))
		given = nil
		release(t, s)
	}
	if got := read(t, s); got != "1 2 3" {
		t.Fatalf("letters %s", got)
	}
	remove(t, s, 1, 2, 3)
}
