package handlers

import (
	"github.com/tablewake/tablewake/pipeline/jsoncursor"
	"github.com/tablewake/tablewake/pipeline/record"
)

// window is the tumbling window of an event (Lambda Developer Guide, "Using Lambda to process records with tumbling
// windows"). The handler ignores the start and the end of the window, and whether the event is the last one of the
// window.
type window struct {
	state []byte // JSON of the state; nil if the event has no state
}

// readWindow returns the window of a decoded event, and the shard of its records. w is nil if the event has no window.
// The cursor must be at the start of the event.
func readWindow(c *jsoncursor.Cursor, page *record.Page) (w *window, shard string) {
	var state []byte
	for name := range c.Members() {
		switch jsoncursor.Unquote(name) {
		case "Records":
			skipRecords(c, page)
		case "shardId":
			shard = jsoncursor.Unquote(c.Text())
		case "state":
			state = c.Value()
		case "window":
			w = &window{}
		}
	}
	if w != nil {
		w.state = state
	}
	return w, shard
}

// skipRecords skips the array of records. It advances by the lengths of the page's records instead of reading them,
// because the records are most of the event's bytes.
func skipRecords(c *jsoncursor.Cursor, page *record.Page) {
	if !c.Take('[') {
		return
	}
	for r := range page.Records() {
		c.Peek()
		c.Advance(len(r.Raw))
		c.Take(',')
	}
	c.Take(']')
}
