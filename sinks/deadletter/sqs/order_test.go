package sqs_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/internal/awstest"
)

// If a Put fails in the middle, no dead letter of a key is sent without the earlier ones of this key. A redrive would
// otherwise deliver the later change first.
func TestPut_FailedLeavesNoLaterLetterOfAKey(t *testing.T) {
	queue := newQueue(t, nil)
	s := open(t, queue, func(op string, r *http.Request, body []byte, send func([]byte) (*http.Response, error)) (*http.Response, error) {
		if op == "SendMessageBatch" && bytes.Contains(body, []byte(`\"index\":1,`)) {
			return awstest.Answer(r, http.StatusServiceUnavailable, "application/x-amz-json-1.0", `{"__type":"ServiceUnavailable"}`), nil
		}
		return send(body)
	})
	ls := letters(0, 1, 2, 3, 4)
	for i, key := range []item.Key{"a", "a", "a", "b", "a"} {
		ls[i].Sink, ls[i].Key = "crm", key
	}
	if err := s.Put(t.Context(), ls); err == nil {
		t.Fatal("a Put of a letter that cannot be sent succeeded")
	}
	if got := read(t, open(t, queue, nil)); got != "0 3" {
		t.Errorf("letters %s, want 0 3: the first of a, and that of b", got)
	}
}
