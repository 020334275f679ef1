package handlers

import (
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/jsoncursor"
)

// window is what an event of a tumbling window says of it (Lambda Developer Guide, "Using
// Lambda to process records with tumbling windows"). Its start and end, and whether this is the
// last invocation for it, change nothing here.
type window struct {
	state []byte // JSON
}

// windowOf reads what stands beside the records of an event, which was decoded: its window,
// if any, and the shard that its records are of. The cursor is at the event's start.
func windowOf(c *jsoncursor.Cursor, page *pipeline.Page) (w *window, shard string) {
	var state []byte
	for name := range c.Members() {
		switch jsoncursor.Unquote(name) {
		case "Records":
			passRecords(c, page)
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

// passRecords passes over the array of records that a page is made of, by their lengths: most
// of an event's bytes are theirs.
func passRecords(c *jsoncursor.Cursor, page *pipeline.Page) {
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
