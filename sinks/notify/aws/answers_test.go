package aws_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tablewake/tablewake/sinks/internal/awstest"
	"github.com/tablewake/tablewake/test/faults"
)

// If an answer does not come from the service, all events of the call are tried again. None counts as sent or as
// refused.
func TestPublish_AnswersThatAreNotTheServices(t *testing.T) {
	for _, of := range services {
		t.Run(of.name, func(t *testing.T) {
			var given *faults.Answer // answer in place of the service; nil: the service answers
			store, q := of.open(t, func(op string, r *http.Request, body []byte, send func([]byte) (*http.Response, error)) (*http.Response, error) {
				if given == nil || !slices.Contains([]string{"SendMessageBatch", "PublishBatch", "PutEvents"}, op) {
					return send(body)
				}
				if given.Cut {
					resp, err := send(body)
					if err != nil {
						return nil, err
					}
					whole, err := io.ReadAll(resp.Body)
					resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(string(whole[:len(whole)/2])), iotest.ErrReader(io.ErrUnexpectedEOF)))
					return resp, errors.Join(err, r.Context().Err())
				}
				return awstest.Answer(r, given.Status, given.Type, given.Body), nil
			}, nil)
			for _, a := range faults.Answers() {
				given = &a
				ms := messages("a1 b1 a2")
				if err := store.Publish(t.Context(), ms); outcome(ms, err) != "a1:again b1:again a2:again" || strings.Contains(err.Error(), "hello") {
					t.Errorf("answered %s: %s, %v", a.Name, outcome(ms, err), err)
				}
			}
			given = nil
			if err := store.Publish(t.Context(), messages("a1 b1 a2")); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"a1", "b1", "a2"} {
				if got := q.ids(t); !strings.Contains(got, id) {
					t.Errorf("%s arrived, and %s did not", got, id)
				}
			}
		})
	}
}
