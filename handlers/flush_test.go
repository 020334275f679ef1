package handlers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// Changes that wait for an object to be full are written before the answer, even if a later change fails until the
// invocation ends: only that one comes again.
func TestFlush_BeforeTheAnswer(t *testing.T) {
	down := pipeline.Transient(errors.New("down"))
	bad := `{"eventID":"x","eventName":"INSERT","eventSource":"aws:dynamodb","eventSourceARN":"` + streamARN + `","dynamodb":{"SequenceNumber":"102","Keys":{"PK":{"S":"b"}},"NewImage":{"PK":{"S":5}}}}`
	for name, test := range map[string]struct {
		event   string
		second  error // of the other sink, for b
		letters pipeline.DeadLetters
	}{
		"another sink is down":             {records("a", "b", "c"), down, &graveyard{}},
		"another sink refuses, no letters": {records("a", "b", "c"), errors.New("refused"), nil},
		"undecodable, letters are down":    {event(recordJSON("a", 101), bad), nil, &graveyard{fail: func() error { return down }}},
		"undecodable, no letters":          {event(recordJSON("a", 101), bad), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				archive := &store{}
				other := &store{fail: func(_ context.Context, key string) error {
					if key == "b" {
						return test.second
					}
					return nil
				}}
				h := All(assemble(t, other, test.letters, func(o *pipeline.Options) {
					o.Live = true
					o.Routes = append(o.Routes, pipeline.Route{
						Name: "archive", Sink: archive, Concurrency: 1, Batch: pipeline.Batch{Count: 1 << 20, Linger: pipeline.MaxLinger, Fill: true},
					})
				}))
				answer, err := h.Invoke(within(t, time.Minute), []byte(test.event))
				if err != nil || failures(t, answer) != "102" || archive.keys()[:1] != "a" {
					t.Errorf("%s, %v, archived %q", answer, err, archive.keys())
				}
			})
		})
	}
}
