package handlers

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

// answer is the result of an invocation.
type answer struct {
	isCommand bool     // the event was a command
	failedIDs []string // messages that Lambda must bring again; for a stream, its earliest unfinished record
	window    *window  // nil if the event has no tumbling window

	records     int           // number of records or messages of the event
	nackedCount int           // number of records or messages that Lambda brings again
	timedOut    bool          // the time was over before all records or messages were finished
	oldestAge   time.Duration // age of the oldest record
}

// json encodes the answer as one of three types of Lambda: StreamsEventResponse, SQSBatchResponse or
// TimeWindowEventResponse.
func (a *answer) json() []byte {
	if a.isCommand {
		return []byte("{}")
	}
	b := []byte(`{"batchItemFailures":[`)
	for i, id := range a.failedIDs {
		if i > 0 {
			b = append(b, ',')
		}
		quoted, _ := json.Marshal(id) // strings cannot fail
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

// logNacked logs that Lambda brings records again. The log line is a warning, because this costs time and money.
func (h *handler) logNacked(ctx context.Context, b *eventRecords, a *answer) {
	why := "a sink or dead letters did not take them"
	if a.timedOut {
		why = errDeadline.Error()
	}
	h.options.log.LogAttrs(ctx, slog.LevelWarn, "not all records are delivered: Lambda brings the rest again",
		slog.String("why", why), slog.Int("records", a.records), slog.Int("from_index", a.records-a.nackedCount),
		slog.String("partition", b.pages[0].Partition))
}
