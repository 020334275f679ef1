package handlers

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

// answer is what an invocation came to.
type answer struct {
	command bool     // it was one
	failed  []string // identifiers of what Lambda has to bring again
	window  *window

	records int           // of the event, or messages
	done    int           // of them
	cut     bool          // the rest for lack of time
	age     time.Duration // of the oldest record
}

// json is the answer as Lambda takes it (StreamsEventResponse, SQSBatchResponse,
// TimeWindowEventResponse).
func (a *answer) json() []byte {
	if a.command {
		return []byte("{}")
	}
	b := []byte(`{"batchItemFailures":[`)
	for i, id := range a.failed {
		if i > 0 {
			b = append(b, ',')
		}
		quoted, _ := json.Marshal(id) // of a string there is no error
		b = append(append(append(b, `{"itemIdentifier":`...), quoted...), '}')
	}
	b = append(b, ']')
	if a.window != nil {
		state := a.window.state
		if state == nil {
			state = []byte("{}")
		}
		b = append(append(b, `,"state":`...), state...)
	}
	return append(b, '}')
}

// logReturned says that records are given back, which costs time and money.
func (h *handler) logReturned(ctx context.Context, b *batch, a *answer) {
	why := "a sink or dead letters did not take them"
	if a.cut {
		why = errDeadline.Error()
	}
	h.o.log.LogAttrs(ctx, slog.LevelWarn, "not all records are delivered: Lambda brings the rest again",
		slog.String("why", why), slog.Int("records", a.records), slog.Int("from_index", a.done), slog.String("partition", b.pages[0].Partition))
}
