package handlers

import (
	"github.com/tablewake/tablewake/pipeline/jsoncursor"
	"github.com/tablewake/tablewake/pipeline/record"
)

// window is the tumbling window of an event (Lambda Developer Guide, "Using Lambda to process
// records with tumbling windows"). The handler ignores its start, its end, and whether this is its
// last invocation.
type window struct {
	state []byte // JSON
}

// readWindow reads the window of a decoded event, nil if it has none, and the shard of its records.
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

// skipRecords skips the array of records by the lengths of the page's records, because they are
// most of the event's bytes.
func skipRecords(c *jsoncursor.Cursor, page *record.Page) {
	if !c.Take('[') {
		return
	}
	for changes, errs := 0, 0; changes+errs < len(page.Changes)+len(page.Errors); {
		c.Peek()
		if errs < len(page.Errors) && page.Errors[errs].Index == changes+errs {
			c.Advance(len(page.Errors[errs].Raw))
			errs++
		} else {
			c.Advance(len(page.Changes[changes].Raw))
			changes++
		}
		c.Take(',')
	}
	c.Take(']')
}
