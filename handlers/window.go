package handlers

import "github.com/tablewake/tablewake/pipeline"

// window is what an event of a tumbling window says of it (Lambda Developer Guide, "Using
// Lambda to process records with tumbling windows"). Its start and end, and whether this is the
// last invocation for it, change nothing here.
type window struct {
	state []byte // JSON
}

// windowOf reads what stands beside the records of an event, which was decoded: its window,
// if any, and the shard that its records are of. The cursor is at the event's start.
func windowOf(c *cursor, page *pipeline.Page) (w *window, shard string) {
	var state []byte
	c.members(func(name string) bool {
		switch name {
		case "Records":
			c.passRecords(page)
		case "shardId":
			shard = text(c.skip())
		case "state":
			state = c.skip()
		case "window":
			w = &window{}
		}
		return true
	})
	if w != nil {
		w.state = state
	}
	return w, shard
}

// passRecords passes over the array of records that a page is made of, by their lengths: most
// of an event's bytes are theirs.
func (c *cursor) passRecords(page *pipeline.Page) {
	if !c.take('[') {
		return
	}
	for changes, errs := 0, 0; changes+errs < len(page.Changes)+len(page.Errors); {
		c.peek()
		if errs < len(page.Errors) && page.Errors[errs].Index == changes+errs {
			c.i += len(page.Errors[errs].Raw)
			errs++
		} else {
			c.i += len(page.Changes[changes].Raw)
			changes++
		}
		c.take(',')
	}
	c.take(']')
}
