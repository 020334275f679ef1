package esm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// window is an open tumbling window.
type window struct {
	start time.Time
	state json.RawMessage
	last  *record // of it, for the event that closes it
}

// windowOf returns the beginning of the window that contains a record.
func windowOf(r *record, length time.Duration) time.Time { return r.created.Truncate(length) }

// openWindow opens the window of a record. It closes the open window before, unless that is the same window.
func (l *lane) openWindow(ctx context.Context, first *record) error {
	start := windowOf(first, l.TumblingWindow)
	if l.window == nil || !l.window.start.Equal(start) {
		if err := l.closeWindow(ctx); err != nil {
			return err
		}
		l.window = &window{start: start}
	}
	l.window.last = first
	return nil
}

// closeWindow closes the open window with an event without records, which says that it is the last one. A failed event
// is sent again.
func (l *lane) closeWindow(ctx context.Context) error {
	if l.window == nil {
		return nil
	}
	for attempt := 1; ; attempt++ {
		f := <-l.free
		_, err := f.Invoke(ctx, l.event(nil))
		l.free <- f
		l.count(func(r *Report) { r.Invocations++ })
		if err == nil {
			l.window = nil
			return context.Cause(ctx)
		}
		l.count(func(r *Report) { r.Errors++ })
		if err := l.pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// event returns the event of a batch. An event without records closes the window.
func (l *lane) event(batch []*record) []byte {
	var b bytes.Buffer
	b.WriteString(`{"Records":[`)
	for i, r := range batch {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(r.raw)
	}
	b.WriteByte(']')
	if w := l.window; w != nil {
		state := w.state
		if len(state) == 0 {
			state = json.RawMessage("{}")
		}
		fmt.Fprintf(&b, `,"window":{"start":%q,"end":%q},"state":%s,"shardId":%q,"eventSourceARN":%q,"isFinalInvokeForWindow":%t,"isWindowTerminatedEarly":false`,
			w.start.Format(time.RFC3339), w.start.Add(l.TumblingWindow).Format(time.RFC3339), state, l.shard,
			w.last.stream, len(batch) == 0)
	}
	b.WriteByte('}')
	return b.Bytes()
}
