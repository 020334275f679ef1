package handlers

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// An invocation waits for no batch to fill, however long its sinks may wait elsewhere: its
// source ends with the event, and all of it is written before the answer.
func TestLinger_DoesNotDelayTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		h := All(assemble(t, s, &graveyard{}, func(o *pipeline.Options) {
			o.Live = true
			o.Routes[0].Batch = pipeline.Batch{Count: 1 << 20, Linger: pipeline.MaxLinger, Fill: true}
		}))
		for _, want := range []string{"a b c", "a b c a b c"} {
			begin := time.Now()
			answer, err := h.Invoke(within(t, time.Minute), []byte(records("a", "b", "c")))
			if took := time.Since(begin); err != nil || failures(t, answer) != "" || s.keys() != want || took > 0 {
				t.Errorf("%s, %v, written %q after %v", answer, err, s.keys(), took)
			}
		}
	})
}
