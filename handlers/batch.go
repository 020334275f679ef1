package handlers

import (
	"cmp"
	"fmt"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// batch is the records of one event, decoded.
type batch struct {
	page    *pipeline.Page
	tracker pipeline.Tracker // of page
	window  *window          // nil where the event is of none
}

// nameless is the partition of records of which nobody says what shard they are of.
const nameless = "lambda"

// open decodes an event, which it takes over.
func (h *handler) open(event []byte, from origin) (*batch, error) {
	page, err := h.decoder.Decode(event)
	if err != nil {
		return nil, fmt.Errorf("the event is broken, and nothing of it is delivered: %w", err)
	}
	c := &cursor{b: event}
	c.peek()
	if len(page.Errors) == 1 && page.Errors[0].Offset == int64(c.i) { // the event itself passed for a record
		return nil, fmt.Errorf("the event is none of a stream: %w", page.Errors[0].Err)
	}
	b := &batch{page: page}
	var shard string
	b.window, shard = windowOf(c, page)
	page.Partition, page.Tracker = cmp.Or(shard, nameless), &b.tracker
	if from == fromKinesis {
		putInOrder(page)
	}
	return b, nil
}

// size counts the records, repeated ones too.
func (b *batch) size() int {
	return len(b.page.Changes) + len(b.page.Errors) + b.page.Duplicates
}

// unfinished is the earliest record that is not finished, by its place in the event; all tells
// that there is none. Its sequence number is "" where that does not decode.
func (b *batch) unfinished() (index int, sequence string, all bool) {
	all = true
	see := func(i int, s string) {
		if !b.tracker.Finished(i) && (all || i < index) {
			index, sequence, all = i, s, false
		}
	}
	for i := range b.page.Changes {
		c := &b.page.Changes[i]
		see(c.Index, c.Sequence)
	}
	for _, e := range b.page.Errors {
		see(e.Index, e.Sequence)
	}
	return index, sequence, all
}

// age is that of the oldest record; 0 where none shows its time.
func (b *batch) age(now time.Time) time.Duration {
	var oldest time.Time
	for i := range b.page.Changes {
		if t := b.page.Changes[i].Time; !t.IsZero() && (oldest.IsZero() || t.Before(oldest)) {
			oldest = t
		}
	}
	if oldest.IsZero() {
		return 0
	}
	return max(0, now.Sub(oldest))
}
